import {
  aclTokenView,
  allocationRecord,
  governanceRecord,
  nodeView,
  policyCheckRecord,
  policyEvaluationRecord,
  policySetOutcomeRecord,
  runRecord,
  variableMetadata,
} from '../../model/index.ts'
import type {
  AclTokenRow,
  AllocationRow,
  NodeRow,
  OrganizationRow,
  PolicyCheckRow,
  PolicyEvaluationRow,
  PolicySetOutcomeRow,
  PolicySetRow,
  ProjectRow,
  RunPolicyRow,
  RunRow,
  VariableRow,
  WorkspaceRow,
} from '../../model/index.ts'
import { joinRowJson, type Commit } from '../../state/index.ts'

/**
 * Views of rows whose event payload differs from the stored form. Other rows are sent as stored.
 */
const EVENT_VIEWS: Readonly<Record<string, (row: never) => object>> = {
  ACLToken: (row: AclTokenRow) => aclTokenView(row, ''),
  Allocation: (row: AllocationRow) => allocationRecord(row),
  Node: (row: NodeRow) => nodeView(row),
  Variable: (row: VariableRow) => variableMetadata(row),
  Organization: (row: OrganizationRow) => governanceRecord('organizations', row),
  Project: (row: ProjectRow) => governanceRecord('projects', row),
  Workspace: (row: WorkspaceRow) => governanceRecord('workspaces', row),
  Policy: (row: RunPolicyRow) => governanceRecord('policies', row),
  PolicySet: (row: PolicySetRow) => governanceRecord('policy-sets', row),
  Run: (row: RunRow) => runRecord(row),
  PolicyCheck: (row: PolicyCheckRow) => policyCheckRecord(row),
  PolicyEvaluation: (row: PolicyEvaluationRow) => policyEvaluationRecord(row),
  PolicySetOutcome: (row: PolicySetOutcomeRow) => policySetOutcomeRecord(row),
}

function viewJson(topic: string, body: string): string {
  const view = Object.hasOwn(EVENT_VIEWS, topic) ? EVENT_VIEWS[topic] : undefined
  // The JSON was encoded from a row of the topic's table.
  return view === undefined ? body : JSON.stringify(view(JSON.parse(body) as never))
}

/**
 * The payload contains the row under the name of its topic, and `Deleted` for deleted jobs and
 * variables.
 */
export function payloadJson(commit: Commit, topic: string, row: number): string {
  const committed = commit.rows[row]
  const body = committed === undefined ? 'null' : joinRowJson(committed.text)
  const view = viewJson(topic, body)
  if (topic === 'Variable')
    return `{"Metadata":${view},"Deleted":${committed?.header === undefined}}`
  if (topic === 'HostVolume') return `{"Volume":${view}}`
  const deleted = topic === 'Job' && committed?.header === undefined ? ',"Deleted":true' : ''
  return `{"${topic}":${view}${deleted}}`
}
