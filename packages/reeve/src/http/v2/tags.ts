import { v2 } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import {
  changeWorkspaceTags,
  addFlatTags,
  findTaggableWorkspace,
  listFlatTags,
  removeFlatTags,
  findWorkspace,
  ownTags,
  workspaceEffectiveTags,
  type GovernanceContext,
  type TagFilter,
  createReservedTagKey,
  deleteReservedTagKey,
  findManagedTagKey,
  findOrganizationToManageTagKeys,
  listReservedTagKeys,
  updateReservedTagKey,
  type VisibleTagKey,
} from '../../governance/index.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import {
  mapResult,
  NO_CONTENT,
  listDocument,
  createdDocument,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import { tagBindingRule } from './body-validation.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { invalidParameter } from './query.ts'
import { formatTime, resourcePath, toOne } from './resources/links.ts'
import {
  changedTagBindingResource,
  effectiveTagBindingResource,
  flatTagResource,
  tagBindingResource,
} from './resources/tag-binding.ts'

const { v2Routes } = v2

/** Returns the routes of a workspace's tag bindings, both its own and inherited ones. */
export function workspaceTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    ...[v2Routes.listWorkspaceTagBindings, v2Routes.listWorkspaceTagBindingMembers].map((route) =>
      endpoint(route, ({ caller, params }) =>
        mapResult(findWorkspace(context, caller, workspaceRef(params)), ({ workspace: { id } }) =>
          listDocument(ownTags(tables, id).map(tagBindingResource), {
            links: { target: resourcePath('workspaces', id) },
          }),
        ),
      ),
    ),
    endpoint(v2Routes.listWorkspaceEffectiveTagBindings, ({ caller, params }) =>
      mapResult(findWorkspace(context, caller, workspaceRef(params)), ({ workspace }) =>
        listDocument(workspaceEffectiveTags(tables, workspace).map(effectiveTagBindingResource)),
      ),
    ),
    ...flatTagEndpoints(context),
    ...CHANGE_ROUTES.map(({ id, isWholeSet, isTold }) =>
      endpoint(
        v2Routes[id],
        async ({ caller, params, body }) =>
          mapResult(
            await changeWorkspaceTags(context, caller, {
              ...workspaceRef(params),
              isWholeSet,
              tags: body.data,
            }),
            (named) => (isTold ? listDocument(named.map(changedTagBindingResource)) : NO_CONTENT),
          ),
        {
          authorize: ({ caller, params }) =>
            findTaggableWorkspace(context, caller, { ...workspaceRef(params), isWholeSet }),
          crossFieldRule: tagBindingRule('/data'),
        },
      ),
    ),
  ]
}

function flatTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(v2Routes.listWorkspaceTags, ({ caller, params }) =>
      mapResult(findWorkspace(context, caller, workspaceRef(params)), ({ workspace: { id } }) =>
        listDocument(listFlatTags(tables, id).map(flatTagResource)),
      ),
    ),
    endpoint(
      v2Routes.addWorkspaceTags,
      async ({ caller, params, body }) => {
        const names = body.data.map(({ attributes }) => attributes.name)
        return mapResult(
          await addFlatTags(context, caller, { ...workspaceRef(params), names }),
          () => NO_CONTENT,
        )
      },
      {
        authorize: ({ caller, params }) =>
          findTaggableWorkspace(context, caller, { ...workspaceRef(params), isWholeSet: false }),
      },
    ),
    endpoint(
      v2Routes.removeWorkspaceTags,
      async ({ caller, params, body }) => {
        const names = body.data.map(({ attributes }) => attributes.name)
        return mapResult(
          await removeFlatTags(context, caller, { ...workspaceRef(params), names }),
          () => NO_CONTENT,
        )
      },
      {
        authorize: ({ caller, params }) =>
          findTaggableWorkspace(context, caller, { ...workspaceRef(params), isWholeSet: true }),
      },
    ),
  ]
}

const CHANGE_ROUTES = [
  { id: 'updateWorkspaceTagBindings', isWholeSet: false, isTold: true },
  { id: 'addWorkspaceTagBindings', isWholeSet: false, isTold: false },
  { id: 'replaceWorkspaceTagBindings', isWholeSet: true, isTold: false },
] as const

function workspaceRef(params: { readonly workspace_id: string }) {
  return { workspaceId: params.workspace_id }
}

/**
 * Parses `filter[tagged][i][key]` and `[value]`. An empty value matches any value; a value without
 * a key is rejected.
 */
export function parseTagFilters(query: object): Result<readonly TagFilter[], GovernanceRefusal> {
  const filters: TagFilter[] = []
  for (const i of FILTER_POSITIONS) {
    const name = `filter[tagged][${i}][key]`
    const key: unknown = Reflect.get(query, name)
    const value: unknown = Reflect.get(query, `filter[tagged][${i}][value]`)
    if (key === undefined && value === undefined) continue
    if (typeof key !== 'string' || key === '')
      return invalidParameter(name, `${name} must be given`)
    filters.push({ key, value: typeof value === 'string' ? value : '' })
  }
  return ok(filters)
}

/** Positions in the contract's `taggedQuery`. */
const FILTER_POSITIONS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

/**
 * Returns the routes of reserved tag keys: keys that an organization suggests, optionally without
 * overrides.
 */
export function reservedTagKeyEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listReservedTagKeys, (request) =>
      mapResult(
        listReservedTagKeys(context, request.caller, {
          organizationName: request.params.organization_name,
          ...offsetAndLimit(request.page),
        }),
        ({ keys, total }) =>
          pageDocument(request, { items: keys.map(reservedTagKeyResource), total }),
      ),
    ),
    endpoint(
      v2Routes.createReservedTagKey,
      async ({ caller, params, body }) =>
        mapResult(
          await createReservedTagKey(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (visible) => createdDocument(reservedTagKeyResource(visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findOrganizationToManageTagKeys(context, caller, params.organization_name),
      },
    ),
    endpoint(
      v2Routes.updateReservedTagKey,
      async ({ caller, params, body }) =>
        mapResult(
          await updateReservedTagKey(context, caller, {
            id: params.reserved_tag_key_id,
            data: body.data,
          }),
          (visible) => resourceDocument(reservedTagKeyResource(visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findManagedTagKey(context, caller, params.reserved_tag_key_id),
      },
    ),
    endpoint(v2Routes.deleteReservedTagKey, async ({ caller, params }) =>
      mapResult(
        await deleteReservedTagKey(context, caller, params.reserved_tag_key_id),
        () => NO_CONTENT,
      ),
    ),
  ]
}

function reservedTagKeyResource({ tagKey, organization }: VisibleTagKey): v2.ReservedTagKey {
  return {
    id: tagKey.id,
    type: 'reserved-tag-keys',
    attributes: {
      key: tagKey.key,
      'disable-overrides': tagKey.disableOverrides,
      'created-at': formatTime(tagKey.createdMs),
      'updated-at': formatTime(tagKey.updatedMs),
    },
    relationships: { organization: toOne('organizations', organization.name) },
  }
}
