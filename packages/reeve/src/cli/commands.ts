import { aclCommands } from './acl/commands.ts'
import {
  agentCommands,
  auditCommands,
  doctorCommands,
  eventCommands,
  loginCommands,
  searchCommands,
  serviceCommands,
  snapshotCommands,
  topCommands,
  uiCommands,
} from './cluster/commands.ts'
import { allocCommands } from './alloc/commands.ts'
import type { CommandSpec } from './command.ts'
import { deploymentCommands } from './deployment/commands.ts'
import { evalCommands } from './eval/commands.ts'
import {
  orgCommands,
  projectCommands,
  teamCommands,
  tokenCommands,
} from './governance/organization-commands.ts'
import { policyCommands, policySetCommands } from './governance/policy-commands.ts'
import { runCommands, stateCommands } from './governance/run-commands.ts'
import { varsetCommands, workspaceCommands } from './governance/workspace-commands.ts'
import { importCommands } from './import/commands.ts'
import { jobCommands } from './job/commands.ts'
import { namespaceCommands } from './namespace/commands.ts'
import { nodePoolCommands } from './node-pool/commands.ts'
import { nodeCommands } from './node/commands.ts'
import { operatorCommands } from './operator/commands.ts'
import { tlsCommands } from './tls/commands.ts'
import { varCommands } from './var/commands.ts'
import { volumeCommands } from './volume/commands.ts'

/** Every command that talks to a server, in the order of the help; completion knows them all. */
export const COMMANDS: readonly CommandSpec[] = [
  ...jobCommands,
  ...allocCommands,
  ...nodeCommands,
  ...nodePoolCommands,
  ...evalCommands,
  ...deploymentCommands,
  ...namespaceCommands,
  ...serviceCommands,
  ...varCommands,
  ...volumeCommands,
  ...aclCommands,
  ...eventCommands,
  ...auditCommands,
  ...agentCommands,
  ...operatorCommands,
  ...snapshotCommands,
  ...tlsCommands,
  ...topCommands,
  ...searchCommands,
  ...uiCommands,
  ...orgCommands,
  ...projectCommands,
  ...workspaceCommands,
  ...stateCommands,
  ...varsetCommands,
  ...teamCommands,
  ...tokenCommands,
  ...policyCommands,
  ...policySetCommands,
  ...runCommands,
  ...importCommands,
  ...loginCommands,
  ...doctorCommands,
]

/** Summaries of command groups, by path. */
export const GROUPS: Readonly<Record<string, string>> = {
  job: 'Submit, inspect, update and stop jobs.',
  'job periodic': 'Work with periodic jobs.',
  alloc: 'Inspect allocations and work with their tasks.',
  node: 'Manage nodes: status, drain, eligibility.',
  'node meta': 'Read and change the metadata of nodes.',
  'node join-token': 'Manage single-use tokens for new nodes.',
  eval: 'Inspect evaluations and failed placements.',
  deployment: 'Watch, promote, pause and fail deployments.',
  'node pool': 'Manage node pools.',
  namespace: 'Manage namespaces.',
  service: 'Inspect registered services.',
  var: 'Manage encrypted variables.',
  volume: 'Manage dynamic host volumes.',
  acl: 'Manage ACL tokens, policies and roles; check what a token may do.',
  'acl token': 'Manage ACL tokens.',
  'acl policy': 'Manage ACL policies.',
  'acl role': 'Manage ACL roles.',
  event: 'Follow the event stream.',
  audit: 'Query the audit trail.',
  agent: 'Run an agent, or inspect a running one.',
  operator: 'Operate the cluster: snapshots, storage, scheduler, diagnostics.',
  'operator scheduler': 'Manage the scheduler configuration.',
  'operator database': 'Operate the PostgreSQL database of a cluster.',
  'operator upgrade': 'Follow and finish an upgrade of the servers.',
  'operator snapshot': 'Save, inspect and restore snapshots.',
  system: 'Maintain the cluster.',
  'system reconcile': 'Recompute derived data.',
  tls: 'Create and inspect certificates.',
  'tls ca': 'Create a certificate authority.',
  'tls cert': 'Create certificates.',
  server: 'Inspect servers, and remove failed ones.',
  org: 'Manage organizations.',
  'org member': 'Manage the members of an organization.',
  project: 'Manage projects.',
  workspace: 'Manage workspaces.',
  'workspace variable': 'Manage the variables that the runs of a workspace get.',
  state: 'Show, compare and roll back the state of workspaces.',
  varset: 'Manage variables that the runs of several workspaces get.',
  team: 'Manage teams and their permissions.',
  token: 'Manage tokens of the governance API.',
  policy: 'Write, test, upload and replay policies.',
  'policy-set': 'Manage policy sets and their scope.',
  import: 'Import another installation: what it holds, and what cannot be carried over.',
  run: 'Manage infrastructure runs.',
}
