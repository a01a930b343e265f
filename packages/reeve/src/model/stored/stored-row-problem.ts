import {
  AclPolicyRecord,
  AclRole,
  AclToken,
  Allocation,
  AuditRecord,
  Deployment,
  Evaluation,
  Job,
  JobSummary,
  Namespace,
  Node,
  NodePool,
  PolicyVerdict,
  ScalingPolicy,
  ServiceRegistration,
} from '@reeve/contract'
import { Type, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

/**
 * Shapes of stored rows. The rows of other tables have no schema: of those the store's own key and
 * groups are checked (state/copy-checker.ts).
 */
const SCHEMAS: Readonly<Record<string, TSchema>> = {
  acl_policies: AclPolicyRecord,
  acl_roles: AclRole,
  acl_tokens: Type.Omit(AclToken, ['SecretID']),
  // Members that have their usual value are left out of an allocation, at every depth.
  allocations: Type.Pick(Allocation, [
    'ID',
    'Namespace',
    'EvalID',
    'Name',
    'NodeID',
    'NodeName',
    'JobID',
    'TaskGroup',
    'DesiredStatus',
    'ClientStatus',
    'AllocatedResources',
    'AllocModifyIndex',
    'CreateTime',
    'ModifyTime',
  ]),
  audit_records: AuditRecord,
  deployments: Deployment,
  evaluations: Evaluation,
  job_summaries: JobSummary,
  job_versions: Job,
  jobs: Job,
  namespaces: Namespace,
  node_pools: NodePool,
  nodes: Type.Omit(Node, ['SecretID']),
  policy_verdicts: PolicyVerdict,
  scaling_policies: ScalingPolicy,
  service_registrations: ServiceRegistration,
}

type Checker = ReturnType<typeof Compile>
const checkers = new Map<string, Checker>()

/** Where a row of the table differs from its schema, and how; undefined when it does not. */
export function storedRowProblem(table: string, row: object): string | undefined {
  const schema = SCHEMAS[table]
  if (schema === undefined) return undefined
  const checker = checkers.get(table) ?? Compile(schema)
  checkers.set(table, checker)
  if (checker.Check(row)) return undefined
  const found = checker.Errors(row).find(({ keyword }) => OF_SHAPE.has(keyword))
  if (found === undefined) return undefined
  return `${found.instancePath || 'its content'} ${found.message}`
}

/**
 * Lengths, formats and ranges are rules for requests. They may have become stricter since the row
 * was written, and code that reads rows does not depend on them.
 */
const OF_SHAPE: ReadonlySet<string> = new Set(['type', 'required', 'anyOf', 'const', 'enum'])
