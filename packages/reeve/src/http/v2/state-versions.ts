import { v2 } from '@reeve/contract'
import {
  createState,
  findCurrentState,
  findOutput,
  findPublicUser,
  findState,
  findStateWriter,
  listStates,
  listStateOutputs,
  readDigest,
  readStatePart,
  rollBackState,
  uploadJsonState,
  uploadState,
  type GovernanceContext,
  type VisibleState,
  type StatePart,
} from '../../governance/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  pageDocument,
  resourceDocument,
  listDocument,
  offsetAndLimit,
} from './documents.ts'
import {
  endpoint,
  type JsonApiResult,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import { outputResource, stateVersionResource } from './resources/state-version.ts'
import { userResource } from './resources/user.ts'

const { v2Routes, STATE_VERSION_INCLUDES } = v2

export function stateVersionEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const includes = { includes: STATE_VERSION_INCLUDES }
  return [
    endpoint(v2Routes.createStateVersion, (request) => createRoute(context, request), {
      authorize: ({ caller, params }) => findStateWriter(context, caller, params.workspace_id),
    }),
    endpoint(v2Routes.rollBackState, (request) => rollBackRoute(context, request), {
      authorize: ({ caller, params }) => findStateWriter(context, caller, params.workspace_id),
    }),
    endpoint(v2Routes.listStateVersions, (request) => listRoute(context, request), includes),
    endpoint(
      v2Routes.readCurrentStateVersion,
      (request) =>
        readRoute(
          context,
          request,
          findCurrentState(context, request.caller, {
            workspaceId: request.params.workspace_id,
            right: 'readState',
          }),
        ),
      includes,
    ),
    endpoint(
      v2Routes.readStateVersion,
      (request) => readRoute(context, request, findById(context, request, 'readState')),
      includes,
    ),
    ...contentEndpoints(context),
    ...outputEndpoints(context),
  ]
}

type StateRequest = Pick<V2Request<typeof v2Routes.readStateVersion>, 'caller' | 'params'>
type DocumentRequest = Pick<V2Request<typeof v2Routes.readStateVersion>, 'requestUrl' | 'includes'>

function findById(
  context: GovernanceContext,
  { caller, params }: StateRequest,
  right: 'readState' | 'readOutputs',
) {
  return findState(context, caller, { stateId: params.state_version_id, right })
}

async function createRoute(
  context: GovernanceContext,
  { caller, params, body, requestUrl }: V2Request<typeof v2Routes.createStateVersion>,
): Promise<JsonApiResult> {
  const workspaceId = params.workspace_id
  const result = await createState(context, caller, { workspaceId, data: body.data })
  const { origin } = requestUrl
  const nowMs = context.clock.nowMs()
  return mapResult(result, (visible) =>
    createdDocument(stateVersionResource(visible, { origin, nowMs, keys: visible.keys })),
  )
}

async function rollBackRoute(
  context: GovernanceContext,
  { caller, params, body, requestUrl }: V2Request<typeof v2Routes.rollBackState>,
): Promise<JsonApiResult> {
  const { id: stateId } = body.data.relationships['rollback-state-version'].data
  const input = { workspaceId: params.workspace_id, stateId }
  const { origin } = requestUrl
  const nowMs = context.clock.nowMs()
  return mapResult(await rollBackState(context, caller, input), (visible) =>
    createdDocument(stateVersionResource(visible, { origin, nowMs })),
  )
}

async function listRoute(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listStateVersions>,
): Promise<JsonApiResult> {
  const { caller, query, page, includes, requestUrl } = request
  const found = listStates(context, caller, {
    address: {
      organizationName: query['filter[organization][name]'],
      workspaceName: query['filter[workspace][name]'],
    },
    status: query['filter[status]'],
    ...offsetAndLimit(page),
  })
  if (!found.ok) return found
  const nowMs = context.clock.nowMs()
  const items: Resource[] = []
  const included: Resource[] = []
  for (const visible of found.value.states) {
    const more = await includedResources(context, visible, includes)
    const { outputIds } = more
    const input = {
      origin: requestUrl.origin,
      nowMs,
      ...(outputIds !== undefined && { outputIds }),
    }
    items.push(stateVersionResource(visible, input))
    included.push(...more.included)
  }
  const { total } = found.value
  return pageDocument(request, { items, total, ...(includes.size > 0 && { included }) })
}

async function readRoute(
  context: GovernanceContext,
  { requestUrl, includes }: DocumentRequest,
  visible: Result<VisibleState, GovernanceRefusal>,
): Promise<JsonApiResult> {
  if (!visible.ok) return visible
  const { included, outputIds } = await includedResources(context, visible.value, includes)
  const resource = stateVersionResource(visible.value, {
    origin: requestUrl.origin,
    nowMs: context.clock.nowMs(),
    digest: await readDigest(context, visible.value.state),
    ...(outputIds !== undefined && { outputIds }),
  })
  return resourceDocument(resource, includes.size > 0 ? { included } : {})
}

interface Included {
  readonly included: readonly Resource[]
  /** Set if the outputs are included. */
  readonly outputIds: readonly string[] | undefined
}

async function includedResources(
  context: GovernanceContext,
  { state }: VisibleState,
  includes: ReadonlySet<string>,
): Promise<Included> {
  const outputs = includes.has('outputs') ? await listStateOutputs(context, state) : undefined
  const creator = includes.has('created_by')
    ? findPublicUser(context, state.createdById)
    : undefined
  return {
    included: [
      ...(outputs ?? []).map((output) => outputResource(output, { isSingle: false })),
      ...(creator === undefined ? [] : [userResource(creator)]),
    ],
    outputIds: outputs?.map(({ id }) => id),
  }
}

function contentEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const isOpen = true
  return [
    endpoint(v2Routes.downloadState, (request) => downloadRoute(context, request, 'state')),
    endpoint(v2Routes.downloadJsonState, (request) => downloadRoute(context, request, 'jsonState')),
    endpoint(
      v2Routes.uploadState,
      async ({ caller, params, body }) => {
        const input = { uploadKey: params.upload_key, bytes: body }
        return mapResult(await uploadState(context, caller, input), () => UPLOADED)
      },
      { isPublic: isOpen },
    ),
    endpoint(
      v2Routes.uploadJsonState,
      async ({ caller, params, body }) => {
        const input = { uploadKey: params.upload_key, bytes: body }
        return mapResult(await uploadJsonState(context, caller, input), () => UPLOADED)
      },
      { isPublic: isOpen },
    ),
  ]
}

const UPLOADED: JsonApiResult = ok({ kind: 'empty', status: 200 })

async function downloadRoute(
  context: GovernanceContext,
  request: StateRequest,
  part: StatePart,
): Promise<JsonApiResult> {
  const visible = findById(context, request, 'readState')
  if (!visible.ok) return visible
  const bytes = await readStatePart(context, visible.value.state, part)
  if (bytes === undefined) return err(NOT_FOUND)
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': 'application/json' } })
}

function outputEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listStateVersionOutputs, (request) =>
      outputsResponse(context, findById(context, request, 'readOutputs')),
    ),
    endpoint(v2Routes.listCurrentOutputs, ({ caller, params }) =>
      outputsResponse(
        context,
        findCurrentState(context, caller, {
          workspaceId: params.workspace_id,
          right: 'readOutputs',
        }),
      ),
    ),
    endpoint(v2Routes.readStateVersionOutput, async ({ caller, params }) =>
      mapResult(await findOutput(context, caller, params.state_version_output_id), (output) =>
        resourceDocument(outputResource(output, { isSingle: true })),
      ),
    ),
  ]
}

async function outputsResponse(
  context: GovernanceContext,
  visible: Result<VisibleState, GovernanceRefusal>,
): Promise<JsonApiResult> {
  if (!visible.ok) return visible
  const outputs = await listStateOutputs(context, visible.value.state)
  return listDocument(outputs.map((output) => outputResource(output, { isSingle: false })))
}
