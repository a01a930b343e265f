import { aclCommands } from './acl/commands.ts'
import { allocCommands } from './alloc/commands.ts'
import { auditCommands } from './audit/commands.ts'
import type { CommandSpec } from './command.ts'
import { deploymentCommands } from './deployment/commands.ts'
import { doctorCommands } from './doctor/commands.ts'
import { evalCommands } from './eval/commands.ts'
import { eventCommands } from './event/commands.ts'
import { orgCommands } from './governance/org/commands.ts'
import { policyCommands } from './governance/policy/commands.ts'
import { policySetCommands } from './governance/policy-set/commands.ts'
import { projectCommands } from './governance/project/commands.ts'
import { runCommands } from './governance/run/commands.ts'
import { teamCommands } from './governance/team/commands.ts'
import { tokenCommands } from './governance/token/commands.ts'
import { workspaceCommands } from './governance/workspace/commands.ts'
import { importCommands } from './import/commands.ts'
import { jobCommands } from './job/commands.ts'
import { loginCommands } from './login/commands.ts'
import { namespaceCommands } from './namespace/commands.ts'
import { nodePoolCommands } from './node-pool/commands.ts'
import { nodeCommands } from './node/commands.ts'
import { operatorCommands } from './operator/commands.ts'
import { searchCommands } from './search/commands.ts'
import { serviceCommands } from './service/commands.ts'
import { snapshotCommands } from './snapshot/commands.ts'
import { topCommands } from './top/commands.ts'
import { uiCommands } from './ui/commands.ts'
import { varCommands } from './var/commands.ts'

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
  ...aclCommands,
  ...eventCommands,
  ...auditCommands,
  ...operatorCommands,
  ...snapshotCommands,
  ...topCommands,
  ...searchCommands,
  ...uiCommands,
  ...orgCommands,
  ...projectCommands,
  ...workspaceCommands,
  ...teamCommands,
  ...tokenCommands,
  ...policyCommands,
  ...policySetCommands,
  ...runCommands,
  ...importCommands,
  ...loginCommands,
  ...doctorCommands,
]

/** What groups of commands are about, by their path. */
export const GROUPS: Readonly<Record<string, string>> = {
  job: 'Jobs: submit them, see how they do, change and stop them.',
  'job periodic': 'Jobs that are launched by the clock.',
  alloc: 'Allocations: look inside them, reach their tasks, stop them.',
  node: 'Nodes: see how they do, empty them, keep work away from them.',
  'node join-token': 'Single-use tokens with which new nodes join the cluster.',
  eval: 'Evaluations: what the scheduler was asked, and why something has no place.',
  deployment: 'Deployments: watch roll-outs, promote, pause or fail them.',
  'node pool': 'Node pools: nodes that jobs name together.',
  namespace: 'Namespaces: parts of the system with their own jobs and access rules.',
  service: 'Services: where the tasks of jobs are reached.',
  var: 'Variables: values that are kept encrypted for jobs.',
  acl: 'Access: tokens, policies and roles.',
  'acl token': 'Tokens: what callers show, and what they may do with them.',
  'acl policy': 'Access policies: rules that tokens and roles have.',
  'acl role': 'Roles: access policies under one name.',
  event: 'Events: follow what changes.',
  audit: 'The audit trail: who wrote what, when and from where.',
  operator: 'What only operators of the servers do.',
  'operator scheduler': 'Settings of the scheduler.',
  'operator database': 'The PostgreSQL that the servers of a cluster share.',
  'operator snapshot': 'Copies of the whole state, to keep and to bring back.',
  system: 'Repairs of the whole system.',
  'system reconcile': 'Work out again what is counted.',
  server: 'The servers.',
  org: 'Organizations: what projects, teams and policies belong to.',
  'org member': 'Members of an organization: who belongs to it, and who is invited.',
  project: 'Projects: workspaces and namespaces with the same policies and tags.',
  workspace: 'Workspaces: where plans for infrastructure are judged.',
  team: 'Teams: who may do what in an organization.',
  token: 'Tokens of the governance API.',
  policy: 'Policies: write, try, test and upload them.',
  'policy-set': 'Policy sets: which policies guard what.',
  import: 'Import another installation: what it holds, and what cannot be carried over.',
  run: 'Runs: plans on their way through the policies.',
}
