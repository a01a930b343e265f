export { Authenticator } from './acl/authenticate.ts'
export { bootstrapAcl } from './acl/bootstrap.ts'
export { createOneTimeToken, exchangeOneTimeToken } from './acl/one-time-tokens.ts'
export {
  deletePolicy,
  mayReadPolicy,
  ownPolicyNames,
  visiblePolicies,
  writePolicy,
} from './acl/policies.ts'
export { deleteRole, ROLE_NOT_FOUND, visibleRoles, writeRole } from './acl/roles.ts'
export { ANONYMOUS_TOKEN, tokenFilterView, tokenStub, tokenWithSecret } from './acl/token-view.ts'
export { checkTokenReader, deleteToken, writeToken } from './acl/tokens.ts'
export type { TokenWritten } from './acl/tokens.ts'
export { ensureBuiltIns } from './built-ins.ts'
export type { WorkloadContext } from './context.ts'
export { EventHub } from './events/hub.ts'
export type { Sink, Subscription } from './events/hub.ts'
export { prepareStream } from './events/subscribe.ts'
export type { EventStreams } from './events/subscribe.ts'
export { registerJob } from './jobs/register.ts'
export type { JobWritten } from './jobs/register.ts'
export { stopJob } from './jobs/stop.ts'
export type { JobStopped } from './jobs/stop.ts'
export { deleteNamespace, NAMESPACE_NOT_FOUND, writeNamespace } from './namespaces.ts'
export { NodeSessions } from './nodes/node-sessions.ts'
export type { NodeSession } from './nodes/node-sessions.ts'
export { registerNode, updateNode } from './nodes/register-node.ts'
export { updateAllocations } from './nodes/update-allocations.ts'
export type { Sealer } from './sealer.ts'
