//! Frames in the real `OpenCode` with the scripted model.

mod artifacts;
mod autonomy;
mod budget;
mod cache;
mod compaction;
mod concurrency;
mod demo;
mod errands;
mod failures;
mod files;
mod flame;
mod folding;
mod interrupted;
mod placement;
mod presence;
mod project;
mod reach;
mod reasoning;
mod reminders;
mod seen;
mod slash;
mod steps;
mod subagents;
mod talk;
mod tree;
mod undo;
