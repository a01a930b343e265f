import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type PolicyCode,
  type PolicyCodeRow,
  type RunPolicyRow,
} from '../../model/index.ts'
import {
  type Diagnostic,
  type EvaluationOrigin,
  organizationTenant,
  type PolicyDefinition,
  type PolicyEngine,
} from '../../policy/index.ts'
import { compareCreation, policyCodeBlobKey, put, remove, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { readPolicyCode } from '../policy-sets/applicable-sets.ts'
import { findPolicy, type VisiblePolicy } from './find-policy.ts'

interface CodeUpload {
  readonly policyId: string
  readonly bytes: Uint8Array
  /** Rejects code that does not compile, instead of storing it with its diagnostics. */
  readonly isStrict: boolean
}

/** Stores the bytes unchanged. */
export async function uploadPolicyCode(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { policyId, bytes, isStrict }: CodeUpload,
): Promise<Result<VisiblePolicy, GovernanceRefusal>> {
  const lookup = { policyId, right: 'update' } as const
  const first = findPolicy(context, caller, lookup)
  if (!first.ok) return first
  const text = decodePolicyCode(bytes)
  if (!text.ok) return err({ code: 'unprocessable', detail: text.error })
  const origin = { tenant: organizationTenant(first.value.organization.id) }
  const candidate = { ...first.value.policy, code: text.value }
  const diagnostics = await diagnosePolicy(context, candidate, origin)
  if (isStrict && diagnostics.some(({ severity }) => severity === 'error'))
    return err({ code: 'unprocessable', detail: formatPolicyErrors(diagnostics) })
  // The record may have been changed while the code was compiled.
  const found = findPolicy(context, caller, lookup)
  if (!found.ok) return found
  const { policy: before, organization } = found.value
  const sha256 = sha256Of(bytes)
  const nowMs = context.clock.nowMs()
  // Uploading the same text again creates no new version.
  const existingId = before.code?.sha256 === sha256 ? before.code.id : undefined
  const codeId = existingId ?? newId(context.ids, 'policy-versions')
  const code: PolicyCode = { id: codeId, bytes: bytes.length, sha256, diagnostics }
  const policy: RunPolicyRow = { ...before, code, updatedMs: nowMs }
  const row: PolicyCodeRow = {
    id: codeId,
    organizationId: organization.id,
    ownerId: policyId,
    sha256,
    bytes: bytes.length,
    createdMs: nowMs,
    createdById: caller.userId,
  }
  const { tables } = context.store
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [policyId],
    changes: [
      put('run_policies', policy),
      ...(existingId === undefined
        ? [put('policy_codes', row), ...pruneVersionsChanges(tables, policyId)]
        : []),
    ],
    blobs: isCodeStored(tables, sha256) ? [] : [{ key: policyCodeBlobKey(sha256), bytes }],
  })
  return ok({ ...found.value, policy })
}

/** Decodes the code, or returns why it is not text. */
function decodePolicyCode(bytes: Uint8Array): Result<string, string> {
  if (!isUtf8(bytes)) return err('Policy code must be UTF-8 text')
  if (bytes.includes(0)) return err('Policy code must not hold NUL bytes')
  return ok(new TextDecoder().decode(bytes))
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Reports whether the text is stored already, for any policy. */
export function isCodeStored(tables: Tables, sha256: string): boolean {
  return tables.policy_codes.countByIndex('blob', policyCodeBlobKey(sha256)) > 0
}

export function formatPolicyErrors(diagnostics: readonly v2.PolicyDiagnostic[]): string {
  return diagnostics
    .filter(({ severity }) => severity === 'error')
    .map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`)
    .join('; ')
}

/** Returns the versions of a policy to delete before another one is added. */
function pruneVersionsChanges(tables: Tables, policyId: string) {
  return listCodeVersions(tables, policyId)
    .slice(v2.POLICY_VERSIONS_KEPT_MAX - 1)
    .map(({ id }) => remove('policy_codes', id))
}

/** Returns the stored versions of a policy, newest first. */
export function listCodeVersions(tables: Tables, policyId: string): readonly PolicyCodeRow[] {
  const { policy_codes: codes } = tables
  return [...codes.keysByIndex('owner', policyId)]
    .map((key) => ({ key, createIndex: codes.createIndexOf(key) ?? 0 }))
    .toSorted((a, b) => compareCreation(b, a))
    .map(({ key }) => codes.get(key))
}

/** One version of a policy with its bytes. */
interface PolicyCodeDownload extends VisiblePolicy {
  readonly sha256: string
  /** Reads the bytes on demand. */
  readonly read: () => Promise<Uint8Array | undefined>
}

/** Returns the newest version of a policy, or the given one. */
export function findPolicyCode(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { policyId, versionId }: { readonly policyId: string; readonly versionId?: string | undefined },
): Result<PolicyCodeDownload, GovernanceRefusal> {
  const found = findPolicy(context, caller, { policyId, right: 'read' })
  if (!found.ok) return found
  const { store } = context
  const id = versionId ?? found.value.policy.code?.id
  const row = id === undefined ? undefined : store.tables.policy_codes.find(id)
  if (row === undefined || row.ownerId !== policyId) return err(NOT_FOUND)
  const { sha256 } = row
  const read = async (): Promise<Uint8Array | undefined> => {
    // A row becomes visible slightly before its blob is durable.
    await store.whenDurable()
    return await store.readBlob(policyCodeBlobKey(sha256))
  }
  return ok({ ...found.value, sha256, read })
}

/** Compiles the code of a changed record again, because the diagnostics depend on the query too. */
export async function refreshDiagnostics(
  context: GovernanceContext,
  before: RunPolicyRow,
  after: RunPolicyRow,
): Promise<PolicyCode | null> {
  const { code } = before
  if (code === null || before.query === after.query) return code
  const text = await readPolicyCode(context.store, code.sha256)
  // The code was replaced concurrently, with diagnostics of its own.
  if (text === undefined) return code
  const origin = { tenant: organizationTenant(after.organizationId) }
  return { ...code, diagnostics: await diagnosePolicy(context, { ...after, code: text }, origin) }
}

/** Diagnostics that are stored with a policy. */
const DIAGNOSTICS_MAX = 50

const EMPTY_POLICY_WARNING: Diagnostic = {
  severity: 'warning',
  message: 'the policy is empty',
  line: 1,
  column: 1,
}

/** Compiles the code of a policy and returns its diagnostics. */
export async function diagnosePolicy(
  { policyEngine }: { readonly policyEngine: Pick<PolicyEngine, 'diagnose'> },
  { name, kind, query, code }: PolicyDefinition,
  origin: EvaluationOrigin,
): Promise<readonly Diagnostic[]> {
  // Empty code is stored with a warning; its evaluation is `errored`.
  if (code.trim() === '') return [EMPTY_POLICY_WARNING]
  const diagnostics = await policyEngine.diagnose({ name, kind, query, code }, origin)
  return diagnostics.slice(0, DIAGNOSTICS_MAX)
}
