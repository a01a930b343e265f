import type { v2 } from '@reeve/contract'
import { findIncluded } from '@reeve/sdk'
import { organizationDisabledReason } from '../../actions/governance-can.ts'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiAction } from '../../data/use-act.ts'
import type { Choice } from '../../parts/picker.tsx'
import { paths } from '../../paths.ts'
import type { Api } from '../../session/api.ts'
import { findNamespaces, findPolicies, findProjects, findWorkspaces } from '../governance/find.ts'
import { MemberPanel, type Member } from '../governance/member-panel.tsx'
import { useAttachNamespaceDisabledReason } from '../governance/use-namespace-giving.ts'
import { changeMembers, MEMBER_KINDS, type MemberKind } from './change-members.ts'
import { SelectorsPanel } from './selectors-panel.tsx'

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
