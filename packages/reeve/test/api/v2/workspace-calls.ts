import type { v2 } from '@reeve/contract'
import { aBody, aTagged, type GovernanceServer } from './harness.ts'

/** What a new workspace is given besides its name. */
export interface NewWorkspace {
  readonly attributes?: object
  readonly projectId?: string
  readonly tags?: object
}

/** The body of a request that creates a workspace. */
export function aWorkspaceBody(name: string, { attributes, projectId, tags }: NewWorkspace = {}) {
  return aBody('workspaces', { name, ...attributes }, { ...inProject(projectId), ...aTags(tags) })
}

export function inProject(id: string | undefined) {
  return id === undefined ? {} : { project: { data: { type: 'projects', id } } }
}

function aTags(tags: object | undefined) {
  return tags === undefined ? {} : aTagged(tags)
}

/** Creates a workspace in the organization `acme` through the API. */
export async function newWorkspace(
  it: GovernanceServer,
  name: string,
  given: NewWorkspace = {},
): Promise<v2.Workspace> {
  const params = { organization_name: 'acme' }
  const { data } = await it.created('createWorkspace', {
    params,
    body: aWorkspaceBody(name, given),
  })
  return data
}

/** What a request changes. */
interface WorkspaceChange {
  readonly attributes?: object
  readonly relationships?: object
}

export async function patchWorkspace(
  it: GovernanceServer,
  id: string,
  { attributes, relationships }: WorkspaceChange,
): Promise<v2.Workspace> {
  const body = aBody('workspaces', attributes, relationships)
  return (await it.ok('updateWorkspace', { params: { workspace_id: id }, body })).data
}

/** The workspaces that a list shows, by name. */
export async function listedNames(
  it: GovernanceServer,
  query: Readonly<Record<string, string>> = {},
  as?: string,
): Promise<readonly string[]> {
  const params = { organization_name: 'acme' }
  const call = as === undefined ? { params, query } : { params, query, as }
  const { data } = await it.ok('listWorkspaces', call)
  return data.map(({ attributes }) => attributes.name)
}

/** The bindings of a list as `key=value`. */
export function pairsOf(
  bindings: readonly { readonly attributes: { readonly key: string; readonly value: string } }[],
): readonly string[] {
  return bindings.map(({ attributes: { key, value } }) => `${key}=${value}`)
}
