//! The source of a server's engine.

use std::sync::Arc;

use callstack_engine::{Engine, EngineError, Profile};

/// The project that a server works in. Clients start servers in every folder that they work in: a store is made when
/// the first frame needs one, not before.
pub trait Project: Send + Sync + 'static {
    /// Returns the engine, if the project has a store.
    fn existing(&self) -> Result<Option<Arc<Engine>>, EngineError>;

    /// Returns the engine; makes a store where there is none.
    fn existing_or_new(&self) -> Result<Arc<Engine>, EngineError>;

    /// Returns the profile whose tools are listed while there is no store that sets another one.
    fn profile(&self) -> Result<Profile, EngineError>;
}

/// An engine that is open already.
impl Project for Arc<Engine> {
    fn existing(&self) -> Result<Option<Arc<Engine>>, EngineError> {
        Ok(Some(Self::clone(self)))
    }

    fn existing_or_new(&self) -> Result<Arc<Engine>, EngineError> {
        Ok(Self::clone(self))
    }

    fn profile(&self) -> Result<Profile, EngineError> {
        Ok(self.current_settings()?.profile)
    }
}
