import type { v2 } from '@reeve/contract'
import { included, type ItemOf } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { knownFields } from '../../output/known-fields.ts'
import { findPolicySet } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { showList } from '../texts.ts'
import { parametersText } from './parameters.ts'

type PolicySet = ItemOf<'listPolicySets'>

export async function runPolicySetList(invocation: Invocation): Promise<number> {
  const params = await organizationOf(invocation)
  return await showList(invocation, invocation.client.pages('listPolicySets', { params }), {
    heading: ['Name', 'Kind', 'Policies', 'Guards', 'ID'],
    row: (set) => [
      set.attributes.name,
      set.attributes.kind,
      String(set.attributes['policy-count']),
      guardsText(set),
      set.id,
    ],
    empty: 'There are no policy sets. "reeve policy-set create NAME" makes one.',
  })
}

function guardsText({ attributes, relationships }: PolicySet): string {
  // Not everything: jobs of namespaces that belong to no project are beside it.
  if (attributes.global) return 'every project'
  const parts = [
    countText(attributes['project-count'], 'project'),
    countText(attributes['workspace-count'], 'workspace'),
    countText(relationships.namespaces?.data.length ?? 0, 'namespace'),
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

function countText(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${count === 1 ? noun : `${noun}s`}`
}

export async function runPolicySetShow(invocation: Invocation): Promise<number> {
  const { id } = await findPolicySet(invocation, invocation.args[0] ?? '')
  return await showPolicySet(invocation, id)
}

const INCLUDED =
  'policies,current_version,workspaces,projects,workspace_exclusions,project_exclusions'

/** As it is now, with the names of its members. */
export async function showPolicySet(invocation: Invocation, setId: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readPolicySet({
    params: { policy_set_id: setId },
    query: { include: INCLUDED },
  })
  const { attributes, relationships } = data.data
  const named = new Map(
    [
      ...included(data, 'policies'),
      ...included(data, 'projects'),
      ...included(data, 'workspaces'),
    ].map((one) => [one.id, one.attributes.name]),
  )
  const namesOf = (members: { readonly data: readonly { readonly id: string }[] } | undefined) =>
    (members?.data ?? []).map(({ id }) => named.get(id) ?? id).join(', ')
  // Once there is an archive its policies are those of the set.
  const [version] = included(data, 'policy-set-versions')
  const parameters = await parametersText(invocation, setId)
  output.show(data, () =>
    knownFields([
      ['Name', attributes.name],
      ['ID', setId],
      ['Kind', attributes.kind],
      ['Description', attributes.description ?? ''],
      ['Guards', guardsText(data.data)],
      ['Policies', version === undefined ? namesOf(relationships.policies) : policiesOf(version)],
      ['Version', version === undefined ? '' : versionText(version)],
      ['Parameters', parameters],
      ['Projects', namesOf(relationships.projects)],
      ['Workspaces', namesOf(relationships.workspaces)],
      ['Jobs of namespaces', namesOf(relationships.namespaces)],
      ['Except projects', namesOf(relationships['project-exclusions'])],
      ['Except workspaces', namesOf(relationships['workspace-exclusions'])],
      ['Overridable', overridableText(attributes.overridable)],
    ]),
  )
  return EXIT_CODES.ok
}

function policiesOf({ attributes }: v2.PolicySetVersion): string {
  return attributes.policies
    .map(({ name, 'enforcement-level': level }) => `${name} (${level})`)
    .join(', ')
}

function versionText({ id, attributes }: v2.PolicySetVersion): string {
  return `${id} of ${attributes['created-at']}`
}

/** Null: the levels of its policies decide. */
function overridableText(overridable: boolean | null): string {
  if (overridable === null) return 'as the levels of its policies say'
  return overridable ? 'yes' : 'no'
}
