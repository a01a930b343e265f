import { v2 } from '@reeve/contract'
import {
  archiveConfiguration,
  configurationsOf,
  createConfiguration,
  findConfiguration,
  findWorkspaceWith,
  readConfigurationArchive,
  uploadConfiguration,
  type GovernanceContext,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import type { ConfigurationVersionRow, StatusTimes } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint, type V2Request } from './endpoint.ts'
import { formatTime, resourcePath, toOne } from './resources/links.ts'

const { v2Routes } = v2

export function configurationVersionEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listConfigurationVersions, (request) => listResponse(context, request)),
    endpoint(v2Routes.createConfigurationVersion, (request) => createRoute(context, request), {
      authorize: ({ caller, params }) =>
        findWorkspaceWith(context, caller, {
          address: { workspaceId: params.workspace_id },
          right: 'queuePlan',
        }),
    }),
    endpoint(v2Routes.readConfigurationVersion, ({ caller, params }) =>
      mapResult(
        findConfiguration(context, caller, { ...configurationRef(params), right: 'read' }),
        ({ configuration }) => resourceDocument(configurationVersionResource(configuration)),
      ),
    ),
    endpoint(v2Routes.downloadConfigurationVersion, (request) => downloadRoute(context, request)),
    endpoint(
      v2Routes.uploadConfigurationVersion,
      async ({ caller, params, body }) =>
        mapResult(
          await uploadConfiguration(context, caller, { uploadKey: params.upload_key, bytes: body }),
          () => UPLOADED,
        ),
      { isPublic: true },
    ),
    endpoint(v2Routes.archiveConfigurationVersion, async ({ caller, params }) =>
      mapResult(
        await archiveConfiguration(context, caller, configurationRef(params).configurationId),
        () => ok({ kind: 'empty', status: 202 }),
      ),
    ),
  ]
}

const UPLOADED: JsonApiResult = ok({ kind: 'empty', status: 200 })

function configurationRef(params: { readonly configuration_version_id: string }) {
  return { configurationId: params.configuration_version_id }
}

async function createRoute(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.createConfigurationVersion>,
): Promise<JsonApiResult> {
  const { caller, params, body, requestUrl } = request
  const result = await createConfiguration(context, caller, {
    workspaceId: params.workspace_id,
    attributes: body.data.attributes,
    host: new URL(requestUrl.origin).host,
  })
  return mapResult(result, ({ configuration, uploadKey }) => {
    const url = `${requestUrl.origin}${resourcePath('uploads', 'configuration', uploadKey)}`
    return createdDocument(configurationVersionResource(configuration, url))
  })
}

function listResponse(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listConfigurationVersions>,
): JsonApiResult {
  const { caller, params, page } = request
  const workspaceId = params.workspace_id
  const found = findWorkspaceWith(context, caller, {
    address: { workspaceId },
    right: 'read',
  })
  return mapResult(found, () => {
    const rows = configurationsOf(context.store.tables, workspaceId)
    const { offset, limit } = offsetAndLimit(page)
    const items = rows.slice(offset, offset + limit).map((row) => configurationVersionResource(row))
    return pageDocument(request, { items, total: rows.length })
  })
}

async function downloadRoute(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.downloadConfigurationVersion>,
): Promise<JsonApiResult> {
  const found = findConfiguration(context, caller, {
    ...configurationRef(params),
    right: 'queuePlan',
  })
  if (!found.ok) return found
  const { configuration } = found.value
  const bytes = await readConfigurationArchive(context, configuration)
  if (bytes === undefined) {
    const detail = `The configuration version is ${configuration.status}; it has no archive`
    return err({ code: 'conflict', detail })
  }
  return ok({
    kind: 'bytes',
    status: 200,
    bytes,
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${configuration.id}.tar.gz"`,
    },
  })
}

export function configurationVersionResource(
  row: ConfigurationVersionRow,
  uploadUrl?: string,
): v2.ConfigurationVersion {
  const { id, status, error } = row
  return {
    id,
    type: 'configuration-versions',
    attributes: {
      status,
      'status-timestamps': statusTimestamps(row.statusMs),
      source: row.source,
      'auto-queue-runs': row.autoQueueRuns,
      speculative: row.speculative,
      provisional: row.provisional,
      error: error === null ? null : 'invalid_archive',
      'error-message': error,
      ...(uploadUrl !== undefined && { 'upload-url': uploadUrl }),
    },
    relationships: { workspace: toOne('workspaces', row.workspaceId) },
    links: {
      self: resourcePath('configuration-versions', id),
      ...(row.bytes !== null && {
        download: resourcePath('configuration-versions', id, 'download'),
      }),
    },
  }
}

function statusTimestamps(times: StatusTimes): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(times).map(([name, ms]): [string, string] => [name, formatTime(ms)]),
  )
}
