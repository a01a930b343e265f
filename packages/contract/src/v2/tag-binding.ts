import { Type } from 'typebox'
import { route } from '../route.ts'
import { Nullable, Timestamp, type Shape } from '../shape.ts'
import { answer, bodyRefusals, emptyAnswer, refusals } from './answers.ts'
import { ListOf, PathLink, ResourceOf, ToOne } from './json-api.ts'
import { TAG_BINDINGS_MAX } from './limits.ts'
import { ProjectPath, WorkspacePath } from './paths.ts'
import { BareId, PrefixedId, TagKey, TagValue } from './patterns.ts'

const pair = {
  key: TagKey(),
  // A key may stand alone: an absent, null or empty value is shown as `""`, for Spec G: Tag binding
  // says string.
  value: TagValue(),
}

/** Spec G: Tag binding, as the lists show it: with `created-at`. Its `id` is additive there. */
export const TagBinding = ResourceOf({
  $id: 'TagBinding',
  type: 'tag-bindings',
  id: PrefixedId('tag-bindings'),
  members: { attributes: Type.Object({ ...pair, 'created-at': Timestamp() }) },
})
export type TagBinding = Shape<typeof TagBinding>

/** Spec G: Tag binding, as the answer to the PATCH shows it: with `id`, without `created-at`. */
export const ChangedTagBinding = ResourceOf({
  $id: 'ChangedTagBinding',
  type: 'tag-bindings',
  id: PrefixedId('tag-bindings'),
  members: { attributes: Type.Object(pair) },
})
export type ChangedTagBinding = Shape<typeof ChangedTagBinding>

/**
 * A binding as it takes effect. On a workspace the inherited ones, and only those, carry `links`
 * and the relationship that name the project (reference §4.6, §10).
 */
export const EffectiveTagBinding = ResourceOf({
  $id: 'EffectiveTagBinding',
  type: 'effective-tag-bindings',
  id: BareId(),
  members: {
    // Spec G: Projects, List tag bindings: both lists of a project have the same attributes.
    attributes: Type.Object({ ...pair, 'created-at': Timestamp() }),
    links: Type.Optional(Type.Object({ 'inherited-from': PathLink() })),
    relationships: Type.Optional(Type.Object({ 'inherited-from': ToOne('projects') })),
  },
})
export type EffectiveTagBinding = Shape<typeof EffectiveTagBinding>

/**
 * Never paged: there are at most ten. The list of a workspace also says whose bindings these are.
 */
export const TagBindingList = Type.Object(
  {
    data: Type.Array(TagBinding),
    links: Type.Optional(Type.Object({ target: PathLink('Path of the workspace.') })),
  },
  { $id: 'TagBindingList' },
)
export type TagBindingList = Shape<typeof TagBindingList>

export const ChangedTagBindingList = ListOf('ChangedTagBindingList', ChangedTagBinding)
export type ChangedTagBindingList = Shape<typeof ChangedTagBindingList>

export const EffectiveTagBindingList = ListOf('EffectiveTagBindingList', EffectiveTagBinding)
export type EffectiveTagBindingList = Shape<typeof EffectiveTagBindingList>

/** A binding in a request: made in passing, so it has attributes and no id. */
export const NewTagBinding = Type.Object(
  {
    type: Type.Literal('tag-bindings'),
    attributes: Type.Object({ key: TagKey(), value: Type.Optional(Nullable(TagValue())) }),
  },
  { $id: 'NewTagBinding' },
)
export type NewTagBinding = Shape<typeof NewTagBinding>

const tooMany = {
  'x-refusals': { maxItems: `cannot exceed ${TAG_BINDINGS_MAX} bindings per resource` },
}

/**
 * `relationships.tag-bindings` of a create or update request: the whole new set; `[]` removes all.
 */
export function NewTagBindings() {
  return Type.Object({
    data: Type.Array(NewTagBinding, { maxItems: TAG_BINDINGS_MAX, ...tooMany }),
  })
}

/**
 * Spec G: Projects, Add or update tag bindings. Never removes one, so an empty list makes no sense.
 */
export const TagBindingsChangeRequest = Type.Object(
  { data: Type.Array(NewTagBinding, { minItems: 1, maxItems: TAG_BINDINGS_MAX, ...tooMany }) },
  { $id: 'TagBindingsChangeRequest' },
)
export type TagBindingsChangeRequest = Shape<typeof TagBindingsChangeRequest>

/** Replaces all bindings; an empty list removes them (reference §2.3, the alias paths). */
export const TagBindingsReplaceRequest = Type.Object(
  { data: Type.Array(NewTagBinding, { maxItems: TAG_BINDINGS_MAX, ...tooMany }) },
  { $id: 'TagBindingsReplaceRequest' },
)
export type TagBindingsReplaceRequest = Shape<typeof TagBindingsReplaceRequest>

const section = 'Tag bindings'
const brokenTag =
  'A key or value breaks its rules, is reserved or given twice, or there are too many.'

const ofProject = { section, params: ProjectPath } as const
const projectUnseen = 'Project not found, or not visible to the caller.'
const projectTagsUnseen = 'Project not found, or the caller may not manage its tags.'
const readsProject = 'Read access to the project.'
const tagsProject = 'Write access to the project; removing needs admin access or Manage projects.'

const projectTagRoutes = {
  listProjectTagBindings: route({
    id: 'listProjectTagBindings',
    methods: ['GET'],
    path: '/api/v2/projects/:project_id/tag-bindings',
    summary: 'List the tag bindings of a project, ordered by key.',
    ...ofProject,
    answers: { 200: answer('All bindings.', TagBindingList), ...refusals({ 404: projectUnseen }) },
    needs: readsProject,
  }),
  listProjectEffectiveTagBindings: route({
    id: 'listProjectEffectiveTagBindings',
    methods: ['GET'],
    path: '/api/v2/projects/:project_id/effective-tag-bindings',
    summary: 'List the effective tag bindings of a project: the same set as its tag bindings.',
    ...ofProject,
    answers: {
      200: answer('All bindings.', EffectiveTagBindingList),
      ...refusals({ 404: projectUnseen }),
    },
    needs: readsProject,
  }),
  updateProjectTagBindings: route({
    id: 'updateProjectTagBindings',
    methods: ['PATCH'],
    path: '/api/v2/projects/:project_id/tag-bindings',
    summary: 'Add tag bindings to a project, or change the values of existing keys.',
    ...ofProject,
    body: TagBindingsChangeRequest,
    answers: {
      200: answer('The bindings that the request named, in its order.', ChangedTagBindingList),
      ...bodyRefusals({ 404: projectTagsUnseen, 422: brokenTag }),
    },
    needs: tagsProject,
  }),
  listProjectTagBindingMembers: route({
    id: 'listProjectTagBindingMembers',
    methods: ['GET'],
    path: '/api/v2/projects/:project_id/relationships/tag-bindings',
    summary: 'List the tag bindings of a project (alias).',
    ...ofProject,
    answers: { 200: answer('All bindings.', TagBindingList), ...refusals({ 404: projectUnseen }) },
    needs: readsProject,
  }),
  addProjectTagBindings: route({
    id: 'addProjectTagBindings',
    methods: ['POST'],
    path: '/api/v2/projects/:project_id/relationships/tag-bindings',
    summary: 'Add tag bindings to a project, or change values (alias without answer body).',
    ...ofProject,
    body: TagBindingsChangeRequest,
    answers: {
      204: emptyAnswer('Added.'),
      ...bodyRefusals({ 404: projectTagsUnseen, 422: brokenTag }),
    },
    needs: tagsProject,
  }),
  replaceProjectTagBindings: route({
    id: 'replaceProjectTagBindings',
    methods: ['PATCH'],
    path: '/api/v2/projects/:project_id/relationships/tag-bindings',
    summary: 'Replace all tag bindings of a project.',
    ...ofProject,
    body: TagBindingsReplaceRequest,
    answers: {
      204: emptyAnswer('Replaced.'),
      ...bodyRefusals({ 404: projectTagsUnseen, 422: brokenTag }),
    },
    needs: tagsProject,
  }),
} as const

const ofWorkspace = { section, params: WorkspacePath } as const
const workspaceUnseen = 'Workspace not found, or not visible to the caller.'
const workspaceTagsUnseen = 'Workspace not found, or the caller may not manage its tags.'
const readsWorkspace = 'Read access to the workspace.'
const tagsWorkspace = 'Plan access to the workspace; removing needs admin access.'

const workspaceTagRoutes = {
  listWorkspaceTagBindings: route({
    id: 'listWorkspaceTagBindings',
    methods: ['GET'],
    path: '/api/v2/workspaces/:workspace_id/tag-bindings',
    summary: 'List the tag bindings of a workspace itself, without inherited ones.',
    ...ofWorkspace,
    answers: {
      200: answer('All bindings.', TagBindingList),
      ...refusals({ 404: workspaceUnseen }),
    },
    needs: readsWorkspace,
  }),
  listWorkspaceEffectiveTagBindings: route({
    id: 'listWorkspaceEffectiveTagBindings',
    methods: ['GET'],
    path: '/api/v2/workspaces/:workspace_id/effective-tag-bindings',
    summary: 'List the tag bindings of a workspace with those inherited from its project.',
    ...ofWorkspace,
    answers: {
      200: answer('Own bindings hide inherited ones of the same key.', EffectiveTagBindingList),
      ...refusals({ 404: workspaceUnseen }),
    },
    needs: readsWorkspace,
  }),
  updateWorkspaceTagBindings: route({
    id: 'updateWorkspaceTagBindings',
    methods: ['PATCH'],
    path: '/api/v2/workspaces/:workspace_id/tag-bindings',
    summary: 'Add tag bindings to a workspace, or change the values of existing keys.',
    ...ofWorkspace,
    body: TagBindingsChangeRequest,
    answers: {
      200: answer('The bindings that the request named, in its order.', ChangedTagBindingList),
      ...bodyRefusals({ 404: workspaceTagsUnseen, 422: brokenTag }),
    },
    needs: tagsWorkspace,
  }),
  listWorkspaceTagBindingMembers: route({
    id: 'listWorkspaceTagBindingMembers',
    methods: ['GET'],
    path: '/api/v2/workspaces/:workspace_id/relationships/tag-bindings',
    summary: 'List the tag bindings of a workspace (alias).',
    ...ofWorkspace,
    answers: {
      200: answer('All bindings.', TagBindingList),
      ...refusals({ 404: workspaceUnseen }),
    },
    needs: readsWorkspace,
  }),
  addWorkspaceTagBindings: route({
    id: 'addWorkspaceTagBindings',
    methods: ['POST'],
    path: '/api/v2/workspaces/:workspace_id/relationships/tag-bindings',
    summary: 'Add tag bindings to a workspace, or change values (alias without answer body).',
    ...ofWorkspace,
    body: TagBindingsChangeRequest,
    answers: {
      204: emptyAnswer('Added.'),
      ...bodyRefusals({ 404: workspaceTagsUnseen, 422: brokenTag }),
    },
    needs: tagsWorkspace,
  }),
  replaceWorkspaceTagBindings: route({
    id: 'replaceWorkspaceTagBindings',
    methods: ['PATCH'],
    path: '/api/v2/workspaces/:workspace_id/relationships/tag-bindings',
    summary: 'Replace all tag bindings of a workspace.',
    ...ofWorkspace,
    body: TagBindingsReplaceRequest,
    answers: {
      204: emptyAnswer('Replaced.'),
      ...bodyRefusals({ 404: workspaceTagsUnseen, 422: brokenTag }),
    },
    needs: tagsWorkspace,
  }),
} as const

export const tagBindingRoutes = { ...projectTagRoutes, ...workspaceTagRoutes } as const
