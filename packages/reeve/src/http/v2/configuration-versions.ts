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
import { answer, created, paged, single, windowOf } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'
import { configurationVersionResource } from './resources/configuration-version.ts'
import { pathOf } from './resources/links.ts'

const { v2Routes } = v2

export function configurationVersionEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listConfigurationVersions, (request) => answerList(context, request)),
    endpoint(v2Routes.createConfigurationVersion, (request) => create(context, request), {
      guard: ({ caller, params }) =>
        findWorkspaceWith(context, caller, {
          address: { workspaceId: params.workspace_id },
          right: 'queuePlan',
        }),
    }),
    endpoint(v2Routes.readConfigurationVersion, ({ caller, params }) =>
      answer(
        findConfiguration(context, caller, { ...idOf(params), right: 'read' }),
        ({ configuration }) => single(configurationVersionResource(configuration)),
      ),
    ),
    endpoint(v2Routes.downloadConfigurationVersion, (request) => download(context, request)),
    endpoint(
      v2Routes.uploadConfigurationVersion,
      async ({ caller, params, body }) =>
        answer(
          await uploadConfiguration(context, caller, { uploadKey: params.upload_key, bytes: body }),
          () => STORED,
        ),
      { isOpen: true },
    ),
    endpoint(v2Routes.archiveConfigurationVersion, async ({ caller, params }) =>
      answer(await archiveConfiguration(context, caller, idOf(params).configurationId), () =>
        ok({ kind: 'empty', status: 202 }),
      ),
    ),
  ]
}

const STORED: Outcome = ok({ kind: 'empty', status: 200 })

function idOf(params: { readonly configuration_version_id: string }) {
  return { configurationId: params.configuration_version_id }
}

async function create(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.createConfigurationVersion>,
): Promise<Outcome> {
  const { caller, params, body, address } = request
  const made = await createConfiguration(context, caller, {
    workspaceId: params.workspace_id,
    attributes: body.data.attributes,
  })
  return answer(made, ({ configuration, uploadKey }) => {
    const url = `${address.origin}${pathOf('uploads', 'configuration', uploadKey)}`
    return created(configurationVersionResource(configuration, url))
  })
}

function answerList(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listConfigurationVersions>,
): Outcome {
  const { caller, params, page } = request
  const workspaceId = params.workspace_id
  const found = findWorkspaceWith(context, caller, {
    address: { workspaceId },
    right: 'read',
  })
  return answer(found, () => {
    const rows = configurationsOf(context.store.tables, workspaceId)
    const { skip, take } = windowOf(page)
    const items = rows.slice(skip, skip + take).map((row) => configurationVersionResource(row))
    return paged(request, { items, total: rows.length })
  })
}

async function download(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.downloadConfigurationVersion>,
): Promise<Outcome> {
  const seen = findConfiguration(context, caller, { ...idOf(params), right: 'queuePlan' })
  if (!seen.ok) return seen
  const { configuration } = seen.value
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
