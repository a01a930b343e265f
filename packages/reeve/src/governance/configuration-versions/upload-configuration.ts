import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  refusalText,
  UNSEEN,
  type ConfigurationVersionRow,
  type GovernanceRefusal,
} from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { findUploader, uploadOnce } from '../blobs/pending-uploads.ts'
import { storeBlob, type StoredBlob } from '../blobs/sealed-blobs.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { queuedRun } from '../runs/queued-run.ts'
import { stamped } from '../runs/run-states.ts'
import { executesHere } from '../workspaces/find-workspace.ts'
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
  const found = findByKey(context, uploadKey, sender)
  if (!found.ok) return found
  const { caller, id } = found.value
  return await uploadOnce(context, id, async () => {
    const problem = await findArchiveProblem(bytes)
    if (problem !== undefined) return await refuse(context, caller, { id, problem })
    return await store(context, caller, { id, bytes })
  })
}

function findByKey(
  context: GovernanceContext,
  uploadKey: string,
  sender: GovernanceCaller,
): Result<{ readonly id: string; readonly caller: GovernanceCaller }, GovernanceRefusal> {
  const { configuration_versions: versions } = context.store.tables
  const [id] = versions.keysIn('upload', context.sealer.hash(uploadKey))
  if (id === undefined) return err(UNSEEN)
  const { status, upload } = versions.get(id)
  if (status !== 'pending') return err(UPLOADED)
  const caller = findUploader(context, upload, sender)
  if (!caller.ok) return caller
  const seen = findConfiguration(context, caller.value, { configurationId: id, right: 'queuePlan' })
  return seen.ok ? ok({ id, caller: caller.value }) : seen
}

const UPLOADED: GovernanceRefusal = {
  code: 'conflict',
  detail:
    'The configuration version has an archive already; create another one to upload other files',
}

async function store(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, bytes }: { readonly id: string; readonly bytes: Uint8Array },
): Promise<Result<ConfigurationVersionRow, GovernanceRefusal>> {
  const find = () => context.store.tables.configuration_versions.find(id)
  const owner = find()
  if (owner === undefined) return err(UNSEEN)
  const { organizationId, workspaceId } = owner
  const blob = await storeBlob(
    context,
    { organizationId, workspaceId, ownerId: id },
    { bytes, isWanted: () => find()?.status === 'pending' },
  )
  const before = find()
  if (before === undefined || blob === undefined) return err(UNSEEN)
  const configuration: ConfigurationVersionRow = {
    ...before,
    status: 'uploaded',
    statusMs: stamped(before.statusMs, 'uploaded', context.clock.nowMs()),
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
  const run = runOfUpload(context, caller, configuration)
  const queued = { ...configuration, error: run.problem }
  await commitUpload(context, caller, queued, {
    ...blob,
    changes: [...blob.changes, ...run.changes],
    runIds: run.ids,
  })
  return ok(queued)
}

interface RunOfUpload {
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
  /** Why no run was queued although one was requested. */
  readonly problem: string | null
}

const NO_RUN: RunOfUpload = { ids: [], changes: [], problem: null }

/**
 * Returns the run to queue after an upload. The archive is kept even if no run can be queued: the
 * version records the reason, and a run can be created from it later.
 */
function runOfUpload(
  context: GovernanceContext,
  caller: GovernanceCaller,
  configuration: ConfigurationVersionRow,
): RunOfUpload {
  if (!configuration.autoQueueRuns) return NO_RUN
  const configurationId = configuration.id
  const seen = findConfiguration(context, caller, { configurationId, right: 'queuePlan' })
  if (!seen.ok || !executesHere(seen.value)) return NO_RUN
  const { workspace, rights } = seen.value
  const queued = queuedRun(context, {
    workspace,
    configuration,
    author: { userId: caller.userId, username: callerName(context, caller) },
    attributes: { 'save-plan': configuration.provisional },
    autoApply: rights.queueApply && workspace.autoApply,
    trigger: 'configuration-upload',
  })
  if (!queued.ok) return { ...NO_RUN, problem: `No run was queued. ${refusalText(queued.error)}` }
  const { run, changes } = queued.value
  return { ids: [run.id], changes, problem: null }
}

async function refuse(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, problem }: { readonly id: string; readonly problem: string },
): Promise<Result<never, GovernanceRefusal>> {
  const before = context.store.tables.configuration_versions.find(id)
  if (before === undefined) return err(UNSEEN)
  await commitUpload(context, caller, {
    ...before,
    status: 'errored',
    statusMs: stamped(before.statusMs, 'errored', context.clock.nowMs()),
    error: problem,
  })
  return err({ code: 'unprocessable', detail: problem })
}

/** Blob changes and other data that are stored with a version's row. */
interface StoredUpload extends StoredBlob {
  readonly runIds: readonly string[]
}

const NOTHING: StoredUpload = { changes: [], blobs: [], runIds: [] }

async function commitUpload(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: ConfigurationVersionRow,
  { changes, blobs, runIds }: StoredUpload = NOTHING,
): Promise<void> {
  const written: Change = put('configuration_versions', row)
  await commitWrite(context, {
    action: 'ConfigurationVersionUploaded',
    caller,
    organizationId: row.organizationId,
    subjects: [row.id, ...runIds],
    changes: [written, ...changes],
    blobs,
  })
}
