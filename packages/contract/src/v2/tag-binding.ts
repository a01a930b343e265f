import * as t from './json-api.ts'
import { add, read, remove, update, routes } from './define.ts'

const pair = {
  key: t.TagKey(),
  // A key may stand alone: an absent, null or empty value is shown as `""`, because
  // clients expect a string.
  value: t.TagValue(),
}

/** With `created-at`. Its `id` is additive there. */
export const TagBinding = t.ResourceOf('TagBinding', 'tag-bindings', {
  attributes: t.Object({ ...pair, 'created-at': t.Timestamp() }),
})
export type TagBinding = t.Infer<typeof TagBinding>

/** With `id`, without `created-at`. */
export const ChangedTagBinding = t.ResourceOf('ChangedTagBinding', 'tag-bindings', {
  attributes: t.Object(pair),
})
export type ChangedTagBinding = t.Infer<typeof ChangedTagBinding>

/**
 * A binding as it takes effect. On a workspace the inherited ones, and only those, carry `links`
 * and the relationship that name the project.
 */
export const EffectiveTagBinding = t.ResourceWithId(
  'EffectiveTagBinding',
  'effective-tag-bindings',
  {
    id: t.UnprefixedId(),
    // Both lists of a project have the same attributes.
    attributes: t.Object({ ...pair, 'created-at': t.Timestamp() }),
    links: t.Optional(t.Object({ 'inherited-from': t.PathLink() })),
    relationships: t.Optional(t.Object({ 'inherited-from': t.ToOne('projects') })),
  },
)
export type EffectiveTagBinding = t.Infer<typeof EffectiveTagBinding>

/**
 * Never paged: there are at most ten. The list of a workspace also says whose bindings these are.
 */
export const TagBindingList = t.Named('TagBindingList', {
  data: t.Array(TagBinding),
  links: t.Optional(t.Object({ target: t.PathLink('Path of the workspace.') })),
})
export type TagBindingList = t.Infer<typeof TagBindingList>

export const ChangedTagBindingList = t.ListOf(ChangedTagBinding)

export const EffectiveTagBindingList = t.ListOf(EffectiveTagBinding)

/** A binding in a request: made in passing, so it has attributes and no id. */
export const NewTagBinding = t.Named('NewTagBinding', {
  type: t.Literal('tag-bindings'),
  attributes: t.Object({ key: t.TagKey(), value: t.Optional(t.Nullable(t.TagValue())) }),
})
export type NewTagBinding = t.Infer<typeof NewTagBinding>

const tooMany = {
  'x-refusals': { maxItems: `cannot exceed ${t.TAG_BINDINGS_MAX} bindings per resource` },
}

/**
 * `relationships.tag-bindings` of a create or update request: the whole new set; `[]` removes all.
 */
export function NewTagBindings() {
  return t.Object({ data: t.Array(NewTagBinding, { maxItems: t.TAG_BINDINGS_MAX, ...tooMany }) })
}

/** A flat tag: a key that stands alone. */
const FlatTag = t.Object({
  type: t.Optional(t.String()),
  id: t.Optional(t.String()),
  attributes: t.Object({ name: t.TagKey() }),
})

/** `relationships.tags` of a request that creates: bindings without values. */
export function NewTags() {
  return t.Object({ data: t.Array(FlatTag, { maxItems: t.TAG_BINDINGS_MAX, ...tooMany }) })
}

/** A key-only binding in the form of clients that know no values. */
export const WorkspaceTag = t.ResourceWithId('WorkspaceTag', 'tags', {
  id: t.PrefixedId('tag-bindings'),
  attributes: t.Object({ name: t.TagKey() }),
})
export type WorkspaceTag = t.Infer<typeof WorkspaceTag>

export const WorkspaceTagList = t.ListOf(WorkspaceTag)

export const WorkspaceTagsRequest = t.Named('WorkspaceTagsRequest', {
  data: t.Array(FlatTag, { minItems: 1, maxItems: t.TAG_BINDINGS_MAX, ...tooMany }),
})

/** Never removes one, so an empty list makes no sense. */
export const TagBindingsChangeRequest = t.Named('TagBindingsChangeRequest', {
  data: t.Array(NewTagBinding, { minItems: 1, maxItems: t.TAG_BINDINGS_MAX, ...tooMany }),
})

/** Replaces all bindings; an empty list removes them (the alias paths). */
export const TagBindingsReplaceRequest = t.Named('TagBindingsReplaceRequest', {
  data: t.Array(NewTagBinding, { maxItems: t.TAG_BINDINGS_MAX, ...tooMany }),
})

const brokenTag =
  'A key or value breaks its rules, is reserved or given twice, or there are too many.'

const readsProject = 'Read access to the project.'
const tagsProject = 'Write access to the project; removing needs admin access or Manage projects.'

const projectTagRoutes = routes('Tag bindings', {
  listProjectTagBindings: read('/projects/:project_id/tag-bindings', {
    summary: 'List the tag bindings of a project, ordered by key.',
    returns: TagBindingList,
    result: 'All bindings.',
    needs: readsProject,
  }),
  listProjectEffectiveTagBindings: read('/projects/:project_id/effective-tag-bindings', {
    summary: 'List the effective tag bindings of a project: the same set as its tag bindings.',
    returns: EffectiveTagBindingList,
    result: 'All bindings.',
    needs: readsProject,
  }),
  updateProjectTagBindings: update('/projects/:project_id/tag-bindings', {
    summary: 'Add tag bindings to a project, or change the values of existing keys.',
    body: TagBindingsChangeRequest,
    returns: ChangedTagBindingList,
    result: 'The bindings that the request named, in its order.',
    errors: { 422: brokenTag },
    needs: tagsProject,
  }),
  listProjectTagBindingMembers: read('/projects/:project_id/relationships/tag-bindings', {
    summary: 'List the tag bindings of a project (alias).',
    returns: TagBindingList,
    result: 'All bindings.',
    needs: readsProject,
  }),
  addProjectTagBindings: add('/projects/:project_id/relationships/tag-bindings', {
    summary: 'Add tag bindings to a project, or change values (alias without answer body).',
    body: TagBindingsChangeRequest,
    errors: { 422: brokenTag },
    needs: tagsProject,
  }),
  replaceProjectTagBindings: update('/projects/:project_id/relationships/tag-bindings', {
    summary: 'Replace all tag bindings of a project.',
    body: TagBindingsReplaceRequest,
    answers: { 204: t.emptyResponse('Replaced.') },
    errors: { 422: brokenTag },
    needs: tagsProject,
  }),
})

const readsWorkspace = 'Read access to the workspace.'
const tagsWorkspace = 'Plan access to the workspace; removing needs admin access.'

const workspaceTagRoutes = routes('Tag bindings', {
  listWorkspaceTagBindings: read('/workspaces/:workspace_id/tag-bindings', {
    summary: 'List the tag bindings of a workspace itself, without inherited ones.',
    returns: TagBindingList,
    result: 'All bindings.',
    needs: readsWorkspace,
  }),
  listWorkspaceEffectiveTagBindings: read('/workspaces/:workspace_id/effective-tag-bindings', {
    summary: 'List the tag bindings of a workspace with those inherited from its project.',
    returns: EffectiveTagBindingList,
    result: 'Own bindings hide inherited ones of the same key.',
    needs: readsWorkspace,
  }),
  updateWorkspaceTagBindings: update('/workspaces/:workspace_id/tag-bindings', {
    summary: 'Add tag bindings to a workspace, or change the values of existing keys.',
    body: TagBindingsChangeRequest,
    returns: ChangedTagBindingList,
    result: 'The bindings that the request named, in its order.',
    errors: { 422: brokenTag },
    needs: tagsWorkspace,
  }),
  listWorkspaceTagBindingMembers: read('/workspaces/:workspace_id/relationships/tag-bindings', {
    summary: 'List the tag bindings of a workspace (alias).',
    returns: TagBindingList,
    result: 'All bindings.',
    needs: readsWorkspace,
  }),
  addWorkspaceTagBindings: add('/workspaces/:workspace_id/relationships/tag-bindings', {
    summary: 'Add tag bindings to a workspace, or change values (alias without answer body).',
    body: TagBindingsChangeRequest,
    errors: { 422: brokenTag },
    needs: tagsWorkspace,
  }),
  listWorkspaceTags: read('/workspaces/:workspace_id/relationships/tags', {
    summary: 'List the tag bindings of a workspace that have no value, as flat tags.',
    returns: WorkspaceTagList,
    result: 'All of them.',
    needs: readsWorkspace,
  }),
  addWorkspaceTags: add('/workspaces/:workspace_id/relationships/tags', {
    summary: 'Add flat tags to a workspace; a binding of the key with a value is kept.',
    body: WorkspaceTagsRequest,
    errors: { 422: brokenTag },
    needs: tagsWorkspace,
  }),
  removeWorkspaceTags: remove('/workspaces/:workspace_id/relationships/tags', {
    summary: 'Remove flat tags from a workspace.',
    body: WorkspaceTagsRequest,
    errors: { 422: brokenTag },
    needs: 'Admin access to the workspace.',
  }),
  replaceWorkspaceTagBindings: update('/workspaces/:workspace_id/relationships/tag-bindings', {
    summary: 'Replace all tag bindings of a workspace.',
    body: TagBindingsReplaceRequest,
    answers: { 204: t.emptyResponse('Replaced.') },
    errors: { 422: brokenTag },
    needs: tagsWorkspace,
  }),
})

export const tagBindingRoutes = { ...projectTagRoutes, ...workspaceTagRoutes }
