import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  refusalMessage,
  NOT_FOUND,
  type ConfigurationVersionRow,
  type GovernanceRefusal,
} from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { findUploader, uploadOnce } from '../blobs/pending-uploads.ts'
import { storeBlob, type StoredBlob } from '../blobs/sealed-blobs.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { queueRun } from '../runs/queued-run.ts'
import { withStatusTime } from '../runs/run-states.ts'
import { usesRemoteExecution } from '../workspaces/find-workspace.ts'
import { findArchiveProblem } from './archive-check.ts'
import { findConfiguration } from './configuration-versions.ts'

/**
 * Stores the archive of the configuration version with this upload key. An archive that cannot be
 * unpacked safely is rejected and makes the version `errored`, because clients that only poll the
 * status would otherwise wait forever.
 */
export async function uploadConfiguration(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, bytes }: { readonly uploadKey: string; readonly bytes: Uint8Array },
): Promise<Result<ConfigurationVersionRow, GovernanceRefusal>> {
  const found = findByUploadKey(context, uploadKey, sender)
  if (!found.ok) return found
  const { caller, id } = found.value
  return await uploadOnce(context, id, async () => {
    const problem = await findArchiveProblem(bytes)
    if (problem !== undefined) return await rejectArchive(context, caller, { id, problem })
    return await storeArchive(context, caller, { id, bytes })
  })
}

function findByUploadKey(
  context: GovernanceContext,
  uploadKey: string,
  sender: GovernanceCaller,
): Result<{ readonly id: string; readonly caller: GovernanceCaller }, GovernanceRefusal> {
  const { configuration_versions: versions } = context.store.tables
  const [id] = versions.keysByIndex('upload', context.sealer.hash(uploadKey))
  if (id === undefined) return err(NOT_FOUND)
  const { status, upload } = versions.get(id)
  if (status !== 'pending') return err(ARCHIVE_ALREADY_UPLOADED)
  const caller = findUploader(context, upload, sender)
  if (!caller.ok) return caller
  const found = findConfiguration(context, caller.value, {
    configurationId: id,
    right: 'queuePlan',
  })
  return found.ok ? ok({ id, caller: caller.value }) : found
}

const ARCHIVE_ALREADY_UPLOADED: GovernanceRefusal = {
  code: 'conflict',
  detail:
    'The configuration version has an archive already; create another one to upload other files',
}

async function storeArchive(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, bytes }: { readonly id: string; readonly bytes: Uint8Array },
): Promise<Result<ConfigurationVersionRow, GovernanceRefusal>> {
  const find = () => context.store.tables.configuration_versions.find(id)
  const owner = find()
  if (owner === undefined) return err(NOT_FOUND)
  const { organizationId, workspaceId } = owner
  const blob = await storeBlob(
    context,
    { organizationId, workspaceId, ownerId: id },
    { bytes, isWanted: () => find()?.status === 'pending' },
  )
  const before = find()
  if (before === undefined || blob === undefined) return err(NOT_FOUND)
  const configuration: ConfigurationVersionRow = {
    ...before,
    status: 'uploaded',
    statusMs: withStatusTime(before.statusMs, 'uploaded', context.clock.nowMs()),
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
  const run = queueUploadRun(context, caller, configuration)
  const queued = { ...configuration, error: run.problem }
  await commitUpload(context, caller, queued, {
    ...blob,
    changes: [...blob.changes, ...run.changes],
    runIds: run.ids,
  })
  return ok(queued)
}

interface UploadRun {
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
  /** Why no run was queued although one was requested. */
  readonly problem: string | null
}

const NO_RUN: UploadRun = { ids: [], changes: [], problem: null }

/**
 * Returns the run to queue after an upload. The archive is kept even if no run can be queued: the
 * version records the reason, and a run can be created from it later.
 */
function queueUploadRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  configuration: ConfigurationVersionRow,
): UploadRun {
  if (!configuration.autoQueueRuns) return NO_RUN
  const configurationId = configuration.id
  const found = findConfiguration(context, caller, { configurationId, right: 'queuePlan' })
  if (!found.ok || !usesRemoteExecution(found.value)) return NO_RUN
  const { workspace, rights } = found.value
  const queued = queueRun(context, {
    workspace,
    configuration,
    author: { userId: caller.userId, username: callerName(context, caller) },
    attributes: { 'save-plan': configuration.provisional },
    autoApply: rights.queueApply && workspace.autoApply,
    trigger: 'configuration-upload',
  })
  if (!queued.ok)
    return { ...NO_RUN, problem: `No run was queued. ${refusalMessage(queued.error)}` }
  const { run, changes } = queued.value
  return { ids: [run.id], changes, problem: null }
}

async function rejectArchive(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, problem }: { readonly id: string; readonly problem: string },
): Promise<Result<never, GovernanceRefusal>> {
  const before = context.store.tables.configuration_versions.find(id)
  if (before === undefined) return err(NOT_FOUND)
  await commitUpload(context, caller, {
    ...before,
    status: 'errored',
    statusMs: withStatusTime(before.statusMs, 'errored', context.clock.nowMs()),
    error: problem,
  })
  return err({ code: 'unprocessable', detail: problem })
}

/** Blob changes and other data that are stored with a version's row. */
interface StoredUpload extends StoredBlob {
  readonly runIds: readonly string[]
}

const NO_EXTRA_CHANGES: StoredUpload = { changes: [], blobs: [], runIds: [] }

async function commitUpload(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: ConfigurationVersionRow,
  { changes, blobs, runIds }: StoredUpload = NO_EXTRA_CHANGES,
): Promise<void> {
  const update: Change = put('configuration_versions', row)
  await commitWrite(context, {
    action: 'ConfigurationVersionUploaded',
    caller,
    organizationId: row.organizationId,
    affectedIds: [row.id, ...runIds],
    changes: [update, ...changes],
    blobs,
  })
}
