import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type ConfigurationVersionRow,
  type GovernanceRefusal,
} from '../../model/index.ts'
import { put, remove, type Change, type Tables } from '../../state/index.ts'
import { deleteBlobChanges, newUpload, readBlob } from '../blobs.ts'
import { rowsByCreation, keysByCreation } from '../list-index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { WorkspaceRight } from '../permissions.ts'
import { isTerminalStatus, withStatusTime } from '../runs/run-status.ts'
import { findWorkspaceWith, type VisibleWorkspace } from '../workspaces/find-workspace.ts'

interface VisibleConfiguration extends VisibleWorkspace {
  readonly configuration: ConfigurationVersionRow
}

interface CreatedConfiguration extends VisibleConfiguration {
  /** Key in the upload URL. */
  readonly uploadKey: string
}

/** Creates a version, which is pending until its archive is uploaded. */
export async function createConfiguration(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly workspaceId: string
    readonly attributes: v2.ConfigurationVersionCreateRequest['data']['attributes']
    /** Host and port by which the client knows this server. */
    readonly host: string
  },
): Promise<Result<CreatedConfiguration, GovernanceRefusal>> {
  const { workspaceId, attributes = {}, host } = request
  const address = { workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right: 'queuePlan' })
  if (!found.ok) return found
  const { organizationId } = found.value.workspace
  const { key, upload } = newUpload(context, caller)
  const nowMs = context.clock.nowMs()
  const configuration: ConfigurationVersionRow = {
    id: newId(context.ids, 'configuration-versions'),
    organizationId,
    workspaceId,
    status: 'pending',
    statusMs: { 'pending-at': nowMs },
    source: 'api',
    autoQueueRuns: attributes['auto-queue-runs'] ?? true,
    speculative: attributes.speculative ?? false,
    provisional: attributes.provisional ?? false,
    error: null,
    upload,
    bytes: null,
    sha256: null,
    createdMs: nowMs,
    createdById: caller.userId,
    createdByName: callerName(context, caller),
    host,
  }
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [configuration.id],
    changes: [
      put('configuration_versions', configuration),
      ...pruneConfigurationsChanges(context.store.tables, workspaceId),
    ],
  })
  return ok({ ...found.value, configuration, uploadKey: key })
}

/** Deletes the oldest versions to make room for a new one, except those of unfinished runs. */
function pruneConfigurationsChanges(tables: Tables, workspaceId: string): readonly Change[] {
  return configurationsOf(tables, workspaceId)
    .slice(v2.CONFIGURATION_VERSIONS_KEPT_MAX - 1)
    .filter(({ id }) => !isConfigurationInUse(tables, id))
    .flatMap(({ id }) => [...deleteBlobChanges(tables, id), remove('configuration_versions', id)])
}

/** Returns the configuration versions of a workspace, newest first. */
export function configurationsOf(
  { configuration_versions: versions }: Tables,
  workspaceId: string,
): readonly ConfigurationVersionRow[] {
  return rowsByCreation(versions, 'workspace', workspaceId).toReversed()
}

/**
 * Returns the version that a run without a configuration plans: the newest one that is neither
 * speculative nor provisional. A provisional one counts once a run of it was applied. Undefined if
 * there is none.
 */
export function currentConfiguration(
  tables: Tables,
  workspaceId: string,
): ConfigurationVersionRow | undefined {
  const { configuration_versions: versions } = tables
  const newestKeys = keysByCreation(versions, 'workspace', workspaceId).toReversed()
  for (const key of newestKeys) {
    const version = versions.get(key)
    const isCandidate = version.status === 'uploaded' && !version.speculative
    if (isCandidate && (!version.provisional || hasAppliedRun(tables, key))) return version
  }
  return undefined
}

function hasAppliedRun({ runs }: Tables, configurationId: string): boolean {
  return [...runs.keysByIndex('configuration', configurationId)].some(
    (id) => runs.get(id).status === 'applied',
  )
}

/** Reports whether an unfinished run uses the version. */
function isConfigurationInUse({ runs }: Tables, configurationId: string): boolean {
  return [...runs.keysByIndex('configuration', configurationId)].some(
    (id) => !isTerminalStatus(runs.get(id).status),
  )
}

export function findConfiguration(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { configurationId, right }: { readonly configurationId: string; readonly right: WorkspaceRight },
): Result<VisibleConfiguration, GovernanceRefusal> {
  const configuration = context.store.tables.configuration_versions.find(configurationId)
  if (configuration === undefined) return err(NOT_FOUND)
  const address = { workspaceId: configuration.workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right })
  return found.ok ? ok({ ...found.value, configuration }) : found
}

/** Returns the archive as uploaded; undefined if none is stored. */
export async function readConfigurationArchive(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  { id, bytes }: Pick<ConfigurationVersionRow, 'id' | 'bytes'>,
): Promise<Uint8Array | undefined> {
  return bytes === null ? undefined : await readBlob(context, { ownerId: id, length: bytes })
}

/** Deletes the archive and keeps the record. */
export async function archiveConfiguration(
  context: GovernanceContext,
  caller: GovernanceCaller,
  configurationId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findConfiguration(context, caller, { configurationId, right: 'queuePlan' })
  if (!found.ok) return found
  const { configuration: before } = found.value
  const { tables } = context.store
  const detail = notArchivableReason(tables, before)
  if (detail !== undefined) return err({ code: 'conflict', detail })
  const nowMs = context.clock.nowMs()
  await commitWrite(context, {
    caller,
    organizationId: before.organizationId,
    affectedIds: [before.id],
    changes: [
      put('configuration_versions', {
        ...before,
        status: 'archived',
        statusMs: withStatusTime(before.statusMs, 'archived', nowMs),
        bytes: null,
      }),
      ...deleteBlobChanges(tables, before.id),
    ],
  })
  return ok(undefined)
}

function notArchivableReason(
  tables: Tables,
  { id, status, workspaceId }: ConfigurationVersionRow,
): string | undefined {
  if (status !== 'uploaded')
    return `The configuration version is ${status}; only an uploaded one can be archived`
  if (isConfigurationInUse(tables, id)) return 'A run that has not ended uses the configuration'
  if (currentConfiguration(tables, workspaceId)?.id === id)
    return 'It is the latest configuration of the workspace, which new runs use'
  return undefined
}
