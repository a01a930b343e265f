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
import { wholeText, type Commit } from '../../state/index.ts'

/**
 * Rows that are stored in another form than events show them. The others are shown as their stored
 * text.
 */
const VIEWS: Readonly<Record<string, (row: never) => object>> = {
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

function viewText(topic: string, body: string): string {
  const view = Object.hasOwn(VIEWS, topic) ? VIEWS[topic] : undefined
  // The body was encoded from a row of its topic's table.
  return view === undefined ? body : JSON.stringify(view(JSON.parse(body) as never))
}

/** The payload is the row under its topic's name; a deleted job says so. */
export function payloadText(commit: Commit, topic: string, row: number): string {
  const committed = commit.rows[row]
  const body = committed === undefined ? 'null' : wholeText(committed.text)
  const view = viewText(topic, body)
  if (topic === 'Variable')
    return `{"Metadata":${view},"Deleted":${committed?.header === undefined}}`
  if (topic === 'HostVolume') return `{"Volume":${view}}`
  const deleted = topic === 'Job' && committed?.header === undefined ? ',"Deleted":true' : ''
  return `{"${topic}":${view}${deleted}}`
}
