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
 * Schemas of stored rows. Rows of other tables have no schema; only their key and groups are
 * checked (state/state-snapshot.ts).
 */
const SCHEMAS: Readonly<Record<string, TSchema>> = {
  acl_policies: AclPolicyRecord,
  acl_roles: AclRole,
  acl_tokens: Type.Omit(AclToken, ['SecretID']),
  // Fields with default values are omitted from allocations, at every depth.
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

/** Returns where and how a row differs from its schema; undefined if it does not. */
export function storedRowProblem(table: string, row: object): string | undefined {
  const schema = SCHEMAS[table]
  if (schema === undefined) return undefined
  const checker = checkers.get(table) ?? Compile(schema)
  checkers.set(table, checker)
  if (checker.Check(row)) return undefined
  const error = checker.Errors(row).find(({ keyword }) => SHAPE_KEYWORDS.has(keyword))
  if (error === undefined) return undefined
  return `${error.instancePath || 'its content'} ${error.message}`
}

/**
 * Keywords that concern the shape. Lengths, formats and ranges are rules for requests, which may
 * have become stricter since the row was written.
 */
const SHAPE_KEYWORDS: ReadonlySet<string> = new Set(['type', 'required', 'anyOf', 'const', 'enum'])
