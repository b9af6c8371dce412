//! The requests of clients.

use std::sync::Arc;

use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{Engine, EngineError, Hint, Kind, tools as engine_tools};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::{Mutex, watch};

use crate::answers::{answered, refused};
use crate::instructions::INSTRUCTIONS;
use crate::lines::UNREADABLE;
use crate::project::Project;
use crate::resources::{self, Address};
use crate::session::Sessions;
use crate::updates::Updates;
use crate::{prompts, tools};

/// One client's server.
#[derive(Clone)]
pub struct McpServer {
    project: Arc<dyn Project>,
    sessions: Sessions,
    version: &'static str,
    /// Held by the call that is carried out. Calls of a step that a client sends at once are carried out in the order
    /// in which they came: a call after a push belongs to its frame.
    turn: Arc<Mutex<()>>,
    updates: Arc<Updates>,
}

impl McpServer {
    /// Returns a server for the frames of a project; `version` is that of the program.
    pub fn new(project: Arc<dyn Project>, sessions: Sessions, version: &'static str) -> Self {
        Self { project, sessions, version, turn: Arc::default(), updates: Arc::default() }
    }

    /// Follows the store, once there is one; returns the receiver of its changes.
    async fn changes(&self) -> Result<watch::Receiver<u64>, ErrorData> {
        let updates = Arc::clone(&self.updates);
        let wanted = self.in_turn(move |project| {
            let engine = project.existing()?;
            Ok(updates.wanted(engine.as_ref()))
        });
        wanted.await.map_err(|error| ErrorData::internal_error(error.sentence(), None))
    }

    /// Carries out blocking work on a thread of its own, in turn.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Project) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let _turn = self.turn.lock().await;
        let project = Arc::clone(&self.project);
        let done = tokio::task::spawn_blocking(move || work(project.as_ref())).await;
        done.unwrap_or_else(|error| {
            Err(EngineError::new(Kind::Internal, format!("the call broke off: {error}")).with_hint(
                Hint::from("Nothing is known of what it did: see ").and("stack_tree").then("."),
            ))
        })
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("callstack", self.version))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let profile = self
            .in_turn(|project| match project.existing() {
                Ok(Some(engine)) => Ok(engine.current_settings()?.profile),
                // The failure of a store is the answer to the calls of tools.
                Ok(None) | Err(_) => project.profile(),
            })
            .await
            .unwrap_or_default();
        Ok(ListToolsResult::with_all_items(tools::listed(profile, &self.sessions)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut arguments = request.arguments.unwrap_or_default();
        let caller = match self.sessions.caller(&context, &mut arguments) {
            Ok(caller) => caller,
            Err(error) => return Ok(refused(&error).into()),
        };
        let updates = Arc::clone(&self.updates);
        let answer = self.in_turn(move |project| {
            let engine = project.existing_or_new()?;
            updates.follow(&engine);
            call(&engine, &request.name, &caller, arguments.into())
        });
        Ok(answer.await.map_or_else(|error| refused(&error), answered).into())
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::listed()))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = Sessions::reader(&context);
        let read = self.in_turn(move |project| read(project, &request.uri, &caller)).await;
        let contents = read.map_err(|error| match error.kind {
            Kind::NotFound => ErrorData::resource_not_found(error.sentence(), None),
            _ => ErrorData::internal_error(error.sentence(), None),
        })?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if Address::of(&request.uri).is_none() {
            let error = no_resource(&request.uri);
            return Err(ErrorData::resource_not_found(error.sentence(), None));
        }
        let mut changes = self.changes().await?;
        if !self.updates.subscribe(request.uri) {
            return Ok(());
        }
        let updates = Arc::downgrade(&self.updates);
        let client = context.peer;
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(updates) = updates.upgrade() else { return };
                for uri in updates.subscribed() {
                    let update = ResourceUpdatedNotificationParam::new(uri);
                    if client.notify_resource_updated(update).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.updates.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let known = uris.filter(|uri| Address::of(uri).is_some()).cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(known).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes().await?;
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                next = changes.changed() => if next.is_err() { return Ok(()) },
            }
            for uri in &uris {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let (code, message) = match request.method.as_str() {
            UNREADABLE => (ErrorCode::PARSE_ERROR, "the request is too long or no JSON".to_owned()),
            _ => (ErrorCode::METHOD_NOT_FOUND, request.method),
        };
        Err(ErrorData::new(code, message, None))
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::listed()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        // The failure of a store is the answer to the calls of tools.
        let engine = self.in_turn(Project::existing).await.unwrap_or_default();
        let arguments = request.arguments.unwrap_or_default();
        let made = prompts::made(&request.name, &arguments, engine.as_deref());
        made.map(Into::into).ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None)
        })
    }
}

/// Reads a resource.
fn read(
    project: &dyn Project,
    uri: &str,
    caller: &Caller,
) -> Result<ResourceContents, EngineError> {
    let address = Address::of(uri).ok_or_else(|| no_resource(uri))?;
    let Some(engine) = project.existing()? else {
        return match address {
            Address::Tree => Ok(ResourceContents::text("No frame was begun here yet.\n", uri)),
            Address::Frame(_) | Address::Log(_) => Err(no_resource(uri)),
        };
    };
    engine.attend()?;
    address.read(&engine, caller, uri)
}

fn no_resource(uri: &str) -> EngineError {
    EngineError::new(Kind::NotFound, format!("there is no resource `{uri}`"))
        .with_hint(format!("`{}` tells of all frames.", resources::TREE))
}

/// Carries out a call of a tool.
fn call(
    engine: &Engine,
    name: &str,
    caller: &Caller,
    arguments: Value,
) -> Result<Answer, EngineError> {
    engine.attend()?;
    if !engine.frame_mode()? {
        return Err(callstack_engine::frame_mode_is_off());
    }
    let Some(tool) = engine_tools::find(engine.dialect(), name) else {
        return Err(EngineError::invalid(
            format!("there is no tool `{name}`"),
            "List the tools again: callstack may have been updated.",
        ));
    };
    tool.run(engine, caller, arguments)
}
