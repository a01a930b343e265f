import { v2 } from '@reeve/contract'
import {
  createState,
  findCurrentState,
  findOutput,
  findShownUser,
  findState,
  findStateWriter,
  listStates,
  outputsOf,
  readDigest,
  readStatePart,
  rollBackState,
  uploadJsonState,
  uploadState,
  type GovernanceContext,
  type SeenState,
  type StatePart,
} from '../../governance/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal } from '../../model/index.ts'
import { answer, created, paged, single, whole, windowOf } from './documents.ts'
import {
  endpoint,
  type Outcome,
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
    endpoint(v2Routes.createStateVersion, (request) => create(context, request), {
      guard: ({ caller, params }) => findStateWriter(context, caller, params.workspace_id),
    }),
    endpoint(v2Routes.rollBackState, (request) => rollBack(context, request), {
      guard: ({ caller, params }) => findStateWriter(context, caller, params.workspace_id),
    }),
    endpoint(v2Routes.listStateVersions, (request) => list(context, request), includes),
    endpoint(
      v2Routes.readCurrentStateVersion,
      (request) =>
        show(
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
      (request) => show(context, request, findById(context, request, 'readState')),
      includes,
    ),
    ...bytesEndpoints(context),
    ...outputEndpoints(context),
  ]
}

type StateRequest = Pick<V2Request<typeof v2Routes.readStateVersion>, 'caller' | 'params'>
type ShownRequest = Pick<V2Request<typeof v2Routes.readStateVersion>, 'address' | 'includes'>

function findById(
  context: GovernanceContext,
  { caller, params }: StateRequest,
  right: 'readState' | 'readOutputs',
) {
  return findState(context, caller, { stateId: params.state_version_id, right })
}

async function create(
  context: GovernanceContext,
  { caller, params, body, address }: V2Request<typeof v2Routes.createStateVersion>,
): Promise<Outcome> {
  const workspaceId = params.workspace_id
  const made = await createState(context, caller, { workspaceId, data: body.data })
  const { origin } = address
  const nowMs = context.clock.nowMs()
  return answer(made, (seen) =>
    created(stateVersionResource(seen, { origin, nowMs, keys: seen.keys })),
  )
}

async function rollBack(
  context: GovernanceContext,
  { caller, params, body, address }: V2Request<typeof v2Routes.rollBackState>,
): Promise<Outcome> {
  const { id: stateId } = body.data.relationships['rollback-state-version'].data
  const wish = { workspaceId: params.workspace_id, stateId }
  const { origin } = address
  const nowMs = context.clock.nowMs()
  return answer(await rollBackState(context, caller, wish), (seen) =>
    created(stateVersionResource(seen, { origin, nowMs })),
  )
}

async function list(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listStateVersions>,
): Promise<Outcome> {
  const { caller, query, page, includes, address } = request
  const found = listStates(context, caller, {
    address: {
      organizationName: query['filter[organization][name]'],
      workspaceName: query['filter[workspace][name]'],
    },
    status: query['filter[status]'],
    ...windowOf(page),
  })
  if (!found.ok) return found
  const nowMs = context.clock.nowMs()
  const items: Resource[] = []
  const included: Resource[] = []
  for (const seen of found.value.states) {
    const more = await includedOf(context, seen, includes)
    const { outputIds } = more
    const shown = { origin: address.origin, nowMs, ...(outputIds !== undefined && { outputIds }) }
    items.push(stateVersionResource(seen, shown))
    included.push(...more.included)
  }
  const { total } = found.value
  return paged(request, { items, total, ...(includes.size > 0 && { included }) })
}

async function show(
  context: GovernanceContext,
  { address, includes }: ShownRequest,
  seen: Result<SeenState, GovernanceRefusal>,
): Promise<Outcome> {
  if (!seen.ok) return seen
  const { included, outputIds } = await includedOf(context, seen.value, includes)
  const resource = stateVersionResource(seen.value, {
    origin: address.origin,
    nowMs: context.clock.nowMs(),
    digest: await readDigest(context, seen.value.state),
    ...(outputIds !== undefined && { outputIds }),
  })
  return single(resource, includes.size > 0 ? { included } : {})
}

interface Included {
  readonly included: readonly Resource[]
  /** When the outputs are included. */
  readonly outputIds: readonly string[] | undefined
}

async function includedOf(
  context: GovernanceContext,
  { state }: SeenState,
  includes: ReadonlySet<string>,
): Promise<Included> {
  const outputs = includes.has('outputs') ? await outputsOf(context, state) : undefined
  const creator = includes.has('created_by') ? findShownUser(context, state.createdById) : undefined
  return {
    included: [
      ...(outputs ?? []).map((output) => outputResource(output, { isSingle: false })),
      ...(creator === undefined ? [] : [userResource(creator)]),
    ],
    outputIds: outputs?.map(({ id }) => id),
  }
}

function bytesEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const isOpen = true
  return [
    endpoint(v2Routes.downloadState, (request) => download(context, request, 'state')),
    endpoint(v2Routes.downloadJsonState, (request) => download(context, request, 'jsonState')),
    endpoint(
      v2Routes.uploadState,
      async ({ caller, params, body }) => {
        const wish = { uploadKey: params.upload_key, bytes: body }
        return answer(await uploadState(context, caller, wish), () => STORED)
      },
      { isOpen },
    ),
    endpoint(
      v2Routes.uploadJsonState,
      async ({ caller, params, body }) => {
        const wish = { uploadKey: params.upload_key, bytes: body }
        return answer(await uploadJsonState(context, caller, wish), () => STORED)
      },
      { isOpen },
    ),
  ]
}

const STORED: Outcome = ok({ kind: 'empty', status: 200 })

async function download(
  context: GovernanceContext,
  request: StateRequest,
  part: StatePart,
): Promise<Outcome> {
  const seen = findById(context, request, 'readState')
  if (!seen.ok) return seen
  const bytes = await readStatePart(context, seen.value.state, part)
  if (bytes === undefined) return err(UNSEEN)
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': 'application/json' } })
}

function outputEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listStateVersionOutputs, (request) =>
      listOutputs(context, findById(context, request, 'readOutputs')),
    ),
    endpoint(v2Routes.listCurrentOutputs, ({ caller, params }) =>
      listOutputs(
        context,
        findCurrentState(context, caller, {
          workspaceId: params.workspace_id,
          right: 'readOutputs',
        }),
      ),
    ),
    endpoint(v2Routes.readStateVersionOutput, async ({ caller, params }) =>
      answer(await findOutput(context, caller, params.state_version_output_id), (output) =>
        single(outputResource(output, { isSingle: true })),
      ),
    ),
  ]
}

async function listOutputs(
  context: GovernanceContext,
  seen: Result<SeenState, GovernanceRefusal>,
): Promise<Outcome> {
  if (!seen.ok) return seen
  const outputs = await outputsOf(context, seen.value.state)
  return whole(outputs.map((output) => outputResource(output, { isSingle: false })))
}
