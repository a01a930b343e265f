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
  publicStatus,
  type CreatedState,
  type VisibleOutput,
  type StateDigest,
} from '../../governance/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal, type StateVersionRow } from '../../model/index.ts'
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
import { resourcePath, relatedLink, formatTime, toMany, toOne } from './resources/links.ts'
import { userResource } from './resources/users.ts'

const { v2Routes } = v2
const { STATE_VERSION_INCLUDES } = v2

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

/** Additional input for the document of a state version. */
interface StateDocumentInput {
  /** Scheme and host of absolute URLs. */
  readonly origin: string
  readonly nowMs: number
  /** Keys of the upload URLs; only in the response of create. */
  readonly keys?: CreatedState['keys']
  /** Digest; only for a single state version. */
  readonly digest?: StateDigest
  readonly outputIds?: readonly string[]
}

function stateVersionResource(
  { state }: Pick<VisibleState, 'state'>,
  input: StateDocumentInput,
): v2.StateVersion {
  const { id, runId } = state
  return {
    id,
    type: 'state-versions',
    attributes: stateVersionAttributes(state, input),
    relationships: {
      workspace: toOne('workspaces', state.workspaceId),
      run: runId === null ? { data: null } : toOne('runs', runId),
      'created-by': toOne('users', state.createdById),
      'rollback-state-version':
        state.rollbackOfId === null ? { data: null } : toOne('state-versions', state.rollbackOfId),
      outputs: {
        ...relatedLink('state-versions', id, 'outputs'),
        ...(input.outputIds && toMany('state-version-outputs', input.outputIds)),
      },
    },
    links: { self: resourcePath('state-versions', id) },
  }
}

function stateVersionAttributes(
  state: StateVersionRow,
  { origin, nowMs, keys, digest }: StateDocumentInput,
): v2.StateVersion['attributes'] {
  const { id } = state
  const upload = (form: string, key: string): string => origin + resourcePath('uploads', form, key)
  return {
    'created-at': formatTime(state.createdMs),
    status: publicStatus(state, nowMs),
    serial: state.serial,
    lineage: state.lineage,
    md5: state.md5,
    size: state.state?.bytes ?? 0,
    'state-version': state.format,
    'tool-version': state.toolVersion,
    'resources-processed': state.status === 'finalized',
    'resource-count': state.resourceCount,
    intermediate: state.intermediate,
    ...(digest !== undefined && resourceCounts(digest)),
    'hosted-state-download-url':
      state.state === null ? null : origin + resourcePath('state-versions', id, 'download'),
    'hosted-json-state-download-url':
      state.jsonState === null
        ? null
        : origin + resourcePath('state-versions', id, 'json-download'),
    ...(keys !== undefined && {
      'hosted-state-upload-url': upload('state', keys.state),
      'hosted-json-state-upload-url': upload('json-state', keys.json),
    }),
  }
}

type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Returns the resources, and their number by type of each module and provider. */
function resourceCounts({ resources }: StateDigest) {
  const countsBy = (nameOf: (one: v2.StateResource) => string): Counts => {
    const counts = new Map<string, Map<string, number>>()
    for (const one of resources) {
      const types = counts.get(nameOf(one)) ?? new Map<string, number>()
      types.set(one.type, (types.get(one.type) ?? 0) + one.count)
      counts.set(nameOf(one), types)
    }
    return Object.fromEntries([...counts].map(([name, types]) => [name, Object.fromEntries(types)]))
  }
  return {
    resources,
    modules: countsBy(({ module }) => module),
    providers: countsBy(({ provider }) => provider),
  }
}

/** Returns an output. Sensitive values are shown only if a single output is requested. */
function outputResource(
  { id, name, sensitive, detailedType, value }: VisibleOutput,
  { isSingle }: { readonly isSingle: boolean },
): v2.StateVersionOutput {
  return {
    id,
    type: 'state-version-outputs',
    attributes: {
      name,
      sensitive,
      type: plainType(detailedType),
      'detailed-type': detailedType,
      value: sensitive && !isSingle ? null : value,
    },
    links: { self: resourcePath('state-version-outputs', id) },
  }
}

const LIST_TYPES: ReadonlySet<unknown> = new Set(['list', 'set', 'tuple'])

/** Returns the simple name of a type. */
function plainType(detailedType: unknown): string {
  if (typeof detailedType === 'string') return detailedType
  const [kind]: readonly unknown[] = Array.isArray(detailedType) ? detailedType : []
  return LIST_TYPES.has(kind) ? 'array' : 'map'
}
