import { v2 } from '@reeve/contract'
import { assert } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type PolicySetRow,
  type PolicySetVersionRow,
  type VersionedPolicy,
} from '../../model/index.ts'
import {
  organizationTenant,
  type ArchivedPolicy,
  type ArchiveProblem,
  type PolicySetManifest,
} from '../../policy/index.ts'
import {
  compareCreation,
  policyCodeBlobKey,
  put,
  remove,
  type Change,
  type Tables,
} from '../../state/index.ts'
import { findUploader, newUpload } from '../blobs.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findPolicySet, type PolicyRight, type VisiblePolicySet } from '../policies/find-policy.ts'
import { diagnosePolicy, formatPolicyErrors, isCodeStored } from '../policies/policy-code.ts'
import { removeMembers, listMemberIds } from './scope.ts'

interface VisibleVersion extends VisiblePolicySet {
  readonly version: PolicySetVersionRow
}

interface CreatedVersion extends VisibleVersion {
  /** Key in the upload URL. */
  readonly uploadKey: string
}

/** Returns the stored versions of a set, newest first. */
export function listVersions(tables: Tables, policySetId: string): readonly PolicySetVersionRow[] {
  const { policy_set_versions: versions } = tables
  return [...versions.keysByIndex('set', policySetId)]
    .map((key) => ({ key, createIndex: versions.createIndexOf(key) ?? 0 }))
    .toSorted((a, b) => compareCreation(b, a))
    .map(({ key }) => versions.get(key))
}

export function findVersion(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { versionId, right }: { readonly versionId: string; readonly right: PolicyRight },
): Result<VisibleVersion, GovernanceRefusal> {
  const version = context.store.tables.policy_set_versions.find(versionId)
  if (version === undefined) return err(NOT_FOUND)
  const { policySetId } = version
  const found = findPolicySet(context, caller, { policySetId, right })
  return found.ok ? ok({ ...found.value, version }) : found
}

/** Creates a version, which is pending until its archive is uploaded. */
export async function createVersion(
  context: GovernanceContext,
  caller: GovernanceCaller,
  policySetId: string,
): Promise<Result<CreatedVersion, GovernanceRefusal>> {
  const found = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!found.ok) return found
  const { key: uploadKey, upload } = newUpload(context, caller)
  const { set: before, organization } = found.value
  const nowMs = context.clock.nowMs()
  const version: PolicySetVersionRow = {
    id: newId(context.ids, 'policy-set-versions'),
    organizationId: organization.id,
    policySetId,
    status: 'pending',
    statusMs: { 'pending-at': nowMs },
    error: null,
    createdMs: nowMs,
    updatedMs: nowMs,
    policies: [],
    params: {},
    upload,
  }
  const set = { ...before, newestVersionId: version.id, updatedMs: nowMs }
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [policySetId],
    changes: [
      put('policy_set_versions', version),
      put('policy_sets', set),
      ...pruneVersionsChanges(context.store.tables, before),
    ],
  })
  return ok({ ...found.value, set, version, uploadKey })
}

/** Returns the oldest versions to delete before another one is added; the current one is kept. */
function pruneVersionsChanges(tables: Tables, set: PolicySetRow): readonly Change[] {
  return listVersions(tables, set.id)
    .filter(({ id }) => id !== set.currentVersionId)
    .slice(v2.POLICY_SET_VERSIONS_KEPT_MAX - 1)
    .flatMap(({ id }) => [
      ...[...tables.policy_codes.keysByIndex('owner', id)].map((key) =>
        remove('policy_codes', key),
      ),
      remove('policy_set_versions', id),
    ])
}

/** Stores the archive of the version with this upload key. */
export async function uploadVersionByKey(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, bytes }: { readonly uploadKey: string; readonly bytes: Uint8Array },
): Promise<Result<void, GovernanceRefusal>> {
  const { policy_set_versions: versions } = context.store.tables
  const [versionId] = versions.keysByIndex('upload', context.sealer.hash(uploadKey))
  if (versionId === undefined) return err(NOT_FOUND)
  const caller = findUploader(context, versions.get(versionId).upload, sender)
  return caller.ok ? await uploadVersion(context, caller.value, { versionId, bytes }) : caller
}

/**
 * Stores the archive of a version. An archive that cannot be unpacked is rejected without changes.
 * An archive with invalid content makes the version `errored`, and the set keeps its current
 * version.
 */
export async function uploadVersion(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { versionId, bytes }: { readonly versionId: string; readonly bytes: Uint8Array },
): Promise<Result<void, GovernanceRefusal>> {
  const first = findPendingVersion(context, caller, versionId)
  if (!first.ok) return first
  const loaded = await loadVersion(context, first.value.set, bytes)
  if (!loaded.ok && loaded.error.kind === 'unreadable')
    return err({ code: 'unprocessable', detail: loaded.error.message })
  // The version may have been uploaded concurrently meanwhile.
  const current = findPendingVersion(context, caller, versionId)
  if (!current.ok) return current
  const { tables } = context.store
  const nowMs = context.clock.nowMs()
  const { set, organization } = current.value
  const version = loaded.ok
    ? markReady(current.value.version, loaded.value, nowMs)
    : markErrored(current.value.version, loaded.error.message, nowMs)
  const codes = loaded.ok ? [...loaded.value.codes] : []
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [set.id],
    changes: [
      put('policy_set_versions', version),
      ...(loaded.ok ? activateVersionChanges(context, { set, version, nowMs }) : []),
      ...codes.map(([sha256, text]) =>
        put('policy_codes', {
          id: newId(context.ids, 'policy-versions'),
          organizationId: organization.id,
          ownerId: versionId,
          sha256,
          bytes: text.length,
          createdMs: nowMs,
          createdById: caller.userId,
        }),
      ),
    ],
    blobs: codes
      .filter(([sha256]) => !isCodeStored(tables, sha256))
      .map(([sha256, text]) => ({ key: policyCodeBlobKey(sha256), bytes: text })),
  })
  return ok(undefined)
}

function findPendingVersion(
  context: GovernanceContext,
  caller: GovernanceCaller,
  versionId: string,
): Result<VisibleVersion, GovernanceRefusal> {
  const found = findVersion(context, caller, { versionId, right: 'update' })
  if (!found.ok || found.value.version.status === 'pending') return found
  return err({ code: 'conflict', detail: 'The version has an archive already.' })
}

function markReady(
  before: PolicySetVersionRow,
  { policies, params }: LoadedVersion,
  nowMs: number,
): PolicySetVersionRow {
  const statusMs = { ...before.statusMs, 'ready-at': nowMs }
  return { ...before, status: 'ready', statusMs, updatedMs: nowMs, policies, params }
}

function markErrored(
  before: PolicySetVersionRow,
  text: string,
  nowMs: number,
): PolicySetVersionRow {
  const statusMs = { ...before.statusMs, 'errored-at': nowMs }
  const error = text.slice(0, ERROR_LENGTH_MAX)
  return { ...before, status: 'errored', statusMs, updatedMs: nowMs, error }
}

/** Maximum stored length of an error message. */
const ERROR_LENGTH_MAX = 4096

interface VersionActivation {
  readonly set: PolicySetRow
  readonly version: PolicySetVersionRow
  readonly nowMs: number
}

/** Makes the newest ready version the current one; the set then has no policy records any more. */
function activateVersionChanges(
  { store }: GovernanceContext,
  { set, version, nowMs }: VersionActivation,
): readonly Change[] {
  const { tables } = store
  const createdIndex = (id: string): number => tables.policy_set_versions.createIndexOf(id) ?? 0
  const { currentVersionId: current } = set
  const isNewest = current === null || createdIndex(current) < createdIndex(version.id)
  const currentVersionId = isNewest ? version.id : current
  const ids = listMemberIds(tables, set.id, 'policies')
  return [
    put('policy_sets', { ...set, currentVersionId, updatedMs: nowMs }),
    ...removeMembers(tables, set, { relation: 'policies', ids }),
  ]
}

/** The policies of an archive, ready to be stored. */
interface LoadedVersion {
  readonly policies: readonly VersionedPolicy[]
  readonly params: PolicySetManifest['params']
  /** Code by hash. */
  readonly codes: ReadonlyMap<string, Uint8Array>
}

/**
 * Reads the policies that the manifest of an archive lists, or returns an error for users. The
 * archive is read and the policies are compiled on worker threads.
 */
async function loadVersion(
  { policyEngine }: Pick<GovernanceContext, 'policyEngine'>,
  { kind, policiesPath, organizationId }: PolicySetRow,
  archive: Uint8Array,
): Promise<Result<LoadedVersion, ArchiveProblem>> {
  assert(policyEngine.readSetArchive !== undefined, 'servers read archives on a thread')
  const origin = { tenant: organizationTenant(organizationId) }
  const loaded = await policyEngine.readSetArchive(archive, { kind, policiesPath }, origin)
  if (!loaded.ok) return loaded
  const policies: VersionedPolicy[] = []
  const codes = new Map<string, Uint8Array>()
  for (const archived of loaded.value.policies) {
    const { file, level, code, ...policy } = archived
    const problems = await compileErrors(policyEngine, archived, { kind, organizationId })
    if (problems !== '')
      return err({
        kind: 'invalid',
        message: `policy "${policy.name}", source ${file}: ${problems}`,
      })
    codes.set(policy.sha256, code)
    policies.push({ ...policy, enforcementLevel: level })
  }
  return ok({ policies, params: loaded.value.params, codes })
}

async function compileErrors(
  policyEngine: GovernanceContext['policyEngine'],
  { name, query, code }: ArchivedPolicy,
  { kind, organizationId }: { readonly kind: v2.PolicyKind; readonly organizationId: string },
): Promise<string> {
  const policy = { name, query, kind, code: new TextDecoder().decode(code) }
  const origin = { tenant: organizationTenant(organizationId) }
  return formatPolicyErrors(await diagnosePolicy({ policyEngine }, policy, origin))
}
