import { useState } from 'react'
import type { v2 } from '@reeve/contract'
import { findIncluded, toMany } from '@reeve/sdk'
import { ActionButton } from '../../components/action-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { Panel } from '../../components/page.tsx'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { useApiAction } from '../../data/api-action.ts'
import type { Choice } from '../../components/picker.tsx'
import { paths } from '../../paths.ts'
import type { Api } from '../../session/api.ts'
import {
  findNamespaces,
  findPolicies,
  findProjects,
  findWorkspaces,
  type Member,
  MemberPanel,
} from '../governance/member-panel.tsx'
import { useAttachNamespaceDisabledReason } from '../governance/in-organization.tsx'
import { selectorText } from './policy-text.ts'

interface SetMembersProps {
  readonly organization: v2.Organization
  readonly document: v2.PolicySetDocument
}

/** Panels with the policies and the scope of a policy set. */
export function SetMembers({ organization, document }: SetMembersProps) {
  const callApi = useApiAction()
  const namespaceDisabledReason = useAttachNamespaceDisabledReason()
  const { id, attributes } = document.data
  const manageDisabledReason = organizationDisabledReason.updatePolicies(organization)
  const attachDisabledReason =
    manageDisabledReason ??
    (attributes.global ? 'The policy set already applies everywhere.' : undefined)
  const change = (kind: MemberKind, operation: 'add' | 'remove') => async (member: Member) => {
    await callApi({
      call: (api) => changeMembers(api, { policySetId: id, kind, operation, memberId: member.id }),
      successMessage: `${member.text} is ${operation === 'add' ? 'added' : 'removed'}.`,
    })
  }
  return (
    <div className="columns">
      {MEMBER_KINDS.map((kind) => {
        const { title, label, emptyText, resourceKind } = MEMBER_TEXTS[kind]
        return (
          <MemberPanel
            key={kind}
            title={title}
            label={label}
            emptyText={emptyText}
            members={membersOf(organization.id, document, kind)}
            disabledReason={memberDisabledReason(document.data, kind, {
              manageDisabledReason,
              attachDisabledReason,
            })}
            addDisabledReason={kind === 'namespaces' ? namespaceDisabledReason : undefined}
            queryKey={[resourceKind, organization.id, kind === 'policies' ? attributes.kind : '']}
            find={(api, text, signal) =>
              searchResources(
                resourceKind,
                { api, organization: organization.id, text, signal },
                attributes.kind,
              )
            }
            onAdd={change(kind, 'add')}
            onRemove={change(kind, 'remove')}
          />
        )
      })}
      <SelectorsPanel policySet={document.data} disabledReason={attachDisabledReason} />
    </div>
  )
}

type ResourceKind = 'policies' | 'projects' | 'workspaces' | 'namespaces'

interface MemberTexts {
  readonly title: string
  readonly label: string
  readonly emptyText: string
  readonly resourceKind: ResourceKind
}

const MEMBER_TEXTS: Readonly<Record<MemberKind, MemberTexts>> = {
  policies: {
    title: 'Policies',
    label: 'Policy',
    emptyText: 'No policies yet.',
    resourceKind: 'policies',
  },
  projects: {
    title: 'Projects',
    label: 'Project',
    emptyText: 'None by name.',
    resourceKind: 'projects',
  },
  workspaces: {
    title: 'Workspaces',
    label: 'Workspace',
    emptyText: 'None by name.',
    resourceKind: 'workspaces',
  },
  namespaces: {
    title: 'Namespaces',
    label: 'Namespace',
    emptyText: 'Only the namespaces of its projects.',
    resourceKind: 'namespaces',
  },
  'project-exclusions': {
    title: 'Excluded projects',
    label: 'Project',
    emptyText: 'None.',
    resourceKind: 'projects',
  },
  'workspace-exclusions': {
    title: 'Excluded workspaces',
    label: 'Workspace',
    emptyText: 'None.',
    resourceKind: 'workspaces',
  },
}

interface DisabledReasons {
  readonly manageDisabledReason: DisabledReason
  readonly attachDisabledReason: DisabledReason
}

/** Returns why a member cannot change. Global sets have exclusions but no attachments. */
function memberDisabledReason(
  { attributes }: v2.PolicySet,
  kind: MemberKind,
  reasons: DisabledReasons,
): DisabledReason {
  if (kind === 'policies')
    return (
      reasons.manageDisabledReason ??
      (attributes.versioned ? 'The policies of this set come with an upload.' : undefined)
    )
  return kind.endsWith('exclusions') ? reasons.manageDisabledReason : reasons.attachDisabledReason
}

function membersOf(
  organization: string,
  document: v2.PolicySetDocument,
  kind: MemberKind,
): readonly Member[] {
  const members = document.data.relationships[kind]?.data ?? []
  return members.map((member) => {
    const { id } = member
    if (member.type === 'namespaces') return { id, text: id, href: paths.jobs({ namespace: id }) }
    const text = findIncluded(document, member)?.attributes.name ?? id
    if (member.type === 'policies') return { id, text, href: paths.policy(organization, id) }
    return member.type === 'projects'
      ? { id, text, href: paths.project(organization, id) }
      : { id, text, href: paths.workspace(organization, text) }
  })
}

interface ResourceSearch {
  readonly api: Api
  readonly organization: string
  readonly text: string
  readonly signal: AbortSignal
}

function searchResources(
  resourceKind: ResourceKind,
  search: ResourceSearch,
  kind: v2.PolicyKind,
): Promise<readonly Choice[]> {
  switch (resourceKind) {
    case 'policies':
      return findPolicies({ ...search, kind })
    case 'projects':
      return findProjects(search)
    case 'workspaces':
      return findWorkspaces(search)
    case 'namespaces':
      return findNamespaces(search.api, search.signal)
  }
}

interface SelectorsPanelProps {
  readonly policySet: v2.PolicySet
  readonly disabledReason: DisabledReason
}

/** Tag selectors of a policy set; inherited tags count too. */
function SelectorsPanel({ policySet, disabledReason }: SelectorsPanelProps) {
  const callApi = useApiAction()
  const params = { policy_set_id: policySet.id }
  const selectors = policySet.attributes['tag-selectors']
  const remove = async (selector: v2.TagSelector) => {
    if (disabledReason !== undefined) return
    await callApi({
      call: (api) => api.v2.removePolicySetTagSelectors({ params, body: { data: [selector] } }),
      successMessage: 'The tag selector is removed.',
    })
  }
  return (
    <Panel title="Tag selectors">
      <div className="stack">
        {selectors.length === 0 ? (
          <p className="quiet">No tag selectors.</p>
        ) : (
          <ul className="members">
            {selectors.map((selector) => (
              <li key={selectorText(selector)}>
                <span>{selectorText(selector)}</span>
                <button
                  type="button"
                  className="icon-button"
                  aria-disabled={disabledReason !== undefined}
                  title={disabledReason}
                  onClick={() => void remove(selector)}
                >
                  <Icon name="close" label={`Remove ${selectorText(selector)}`} />
                </button>
              </li>
            ))}
          </ul>
        )}
        <NewSelector policySet={policySet} disabledReason={disabledReason} />
      </div>
    </Panel>
  )
}

function NewSelector({ policySet, disabledReason }: SelectorsPanelProps) {
  const callApi = useApiAction()
  const [key, setKey] = useState('')
  const [value, setValue] = useState('')
  const [isExcluded, setExcluded] = useState(false)
  const add = async () => {
    const selector = {
      'tag-key': key,
      'tag-value': value === '' ? null : value,
      'is-exclude': isExcluded,
    }
    const result = await callApi({
      call: async (api) => {
        await api.v2.addPolicySetTagSelectors({
          params: { policy_set_id: policySet.id },
          body: { data: [selector] },
        })
        return true
      },
      successMessage: 'The tag selector is added.',
    })
    if (result === undefined) return
    setKey('')
    setValue('')
  }
  return (
    <form className="row tag-row" onSubmit={(event) => event.preventDefault()}>
      <select
        aria-label="Whether the tag selects or excludes"
        value={isExcluded ? 'not' : 'with'}
        disabled={disabledReason !== undefined}
        onChange={({ target }) => setExcluded(target.value === 'not')}
      >
        <option value="with">with</option>
        <option value="not">without</option>
      </select>
      <input
        aria-label="Key of the tag"
        placeholder="key"
        value={key}
        disabled={disabledReason !== undefined}
        onChange={(event) => setKey(event.target.value)}
      />
      <input
        aria-label="Value of the tag"
        placeholder="any value"
        value={value}
        disabled={disabledReason !== undefined}
        onChange={(event) => setValue(event.target.value)}
      />
      <ActionButton
        disabledReason={disabledReason ?? (key === '' ? 'Fill in the key.' : undefined)}
        onAction={add}
        isSubmit
      >
        Add
      </ActionButton>
    </form>
  )
}

/** Members of a policy set: its policies and its scope. */
const MEMBER_KINDS = [
  'policies',
  'projects',
  'workspaces',
  'namespaces',
  'project-exclusions',
  'workspace-exclusions',
] as const
type MemberKind = (typeof MEMBER_KINDS)[number]

interface MemberChange {
  /** ID of the policy set. */
  readonly policySetId: string
  readonly kind: MemberKind
  readonly operation: 'add' | 'remove'
  readonly memberId: string
}

function changeMembers(
  { v2 }: Api,
  { policySetId, kind, operation, memberId }: MemberChange,
): Promise<unknown> {
  const params = { policy_set_id: policySetId }
  const isAdded = operation === 'add'
  switch (kind) {
    case 'policies': {
      const call = isAdded ? v2.addPolicySetPolicies : v2.removePolicySetPolicies
      return call({ params, body: toMany('policies', [memberId]) })
    }
    case 'projects': {
      const call = isAdded ? v2.addPolicySetProjects : v2.removePolicySetProjects
      return call({ params, body: toMany('projects', [memberId]) })
    }
    case 'workspaces': {
      const call = isAdded ? v2.addPolicySetWorkspaces : v2.removePolicySetWorkspaces
      return call({ params, body: toMany('workspaces', [memberId]) })
    }
    case 'namespaces': {
      const call = isAdded ? v2.addPolicySetNamespaces : v2.removePolicySetNamespaces
      return call({ params, body: toMany('namespaces', [memberId]) })
    }
    case 'project-exclusions': {
      const call = isAdded ? v2.addPolicySetProjectExclusions : v2.removePolicySetProjectExclusions
      return call({ params, body: toMany('projects', [memberId]) })
    }
    case 'workspace-exclusions': {
      const call = isAdded
        ? v2.addPolicySetWorkspaceExclusions
        : v2.removePolicySetWorkspaceExclusions
      return call({ params, body: toMany('workspaces', [memberId]) })
    }
  }
}
