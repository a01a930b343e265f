import type { v2 } from '@reeve/contract'
import { findIncluded } from '@reeve/sdk'
import { organizationCan } from '../../actions/governance-can.ts'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import type { Choice } from '../../parts/picker.tsx'
import { paths } from '../../paths.ts'
import type { Api } from '../../session/api.ts'
import { findNamespaces, findPolicies, findProjects, findWorkspaces } from '../governance/find.ts'
import { MemberPanel, type Member } from '../governance/member-panel.tsx'
import { useNamespaceGiving } from '../governance/use-namespace-giving.ts'
import { changeMembers, MEMBER_KINDS, type MemberKind } from './change-members.ts'
import { SelectorsPanel } from './selectors-panel.tsx'

interface SetMembersProps {
  readonly organization: v2.Organization
  readonly document: v2.PolicySetDocument
}

/** What is in the set and where it applies, each changed member by member. */
export function SetMembers({ organization, document }: SetMembersProps) {
  const act = useAct()
  const namespaceRefusal = useNamespaceGiving()
  const { id, attributes } = document.data
  const manage = organizationCan.updatePolicies(organization)
  const attach = manage ?? (attributes.global ? 'The set applies everywhere already.' : undefined)
  const change = (kind: MemberKind, verb: 'add' | 'remove') => async (member: Member) => {
    await act({
      call: (api) => changeMembers(api, { set: id, kind, verb, member: member.id }),
      done: `${member.text} is ${verb === 'add' ? 'added' : 'taken out'}.`,
    })
  }
  return (
    <div className="columns">
      {MEMBER_KINDS.map((kind) => {
        const { title, label, none, group } = WORDS[kind]
        return (
          <MemberPanel
            key={kind}
            title={title}
            label={label}
            none={none}
            members={membersOf(organization.id, document, kind)}
            refusal={refusalOf(document.data, kind, { manage, attach })}
            addRefusal={kind === 'namespaces' ? namespaceRefusal : undefined}
            queryKey={[group, organization.id, kind === 'policies' ? attributes.kind : '']}
            find={(api, text, signal) =>
              findOf(group, { api, organization: organization.id, text, signal }, attributes.kind)
            }
            onAdd={change(kind, 'add')}
            onRemove={change(kind, 'remove')}
          />
        )
      })}
      <SelectorsPanel set={document.data} refusal={attach} />
    </div>
  )
}

type Group = 'policies' | 'projects' | 'workspaces' | 'namespaces'

interface Words {
  readonly title: string
  readonly label: string
  readonly none: string
  readonly group: Group
}

const WORDS: Readonly<Record<MemberKind, Words>> = {
  policies: {
    title: 'Policies',
    label: 'Policy',
    none: 'No policies yet.',
    group: 'policies',
  },
  projects: { title: 'Projects', label: 'Project', none: 'None by name.', group: 'projects' },
  workspaces: {
    title: 'Workspaces',
    label: 'Workspace',
    none: 'None by name.',
    group: 'workspaces',
  },
  namespaces: {
    title: 'Namespaces',
    label: 'Namespace',
    none: 'No jobs, except those of the namespaces of its projects.',
    group: 'namespaces',
  },
  'project-exclusions': {
    title: 'Excluded projects',
    label: 'Project',
    none: 'None.',
    group: 'projects',
  },
  'workspace-exclusions': {
    title: 'Excluded workspaces',
    label: 'Workspace',
    none: 'None.',
    group: 'workspaces',
  },
}

interface Refusals {
  readonly manage: Verdict
  readonly attach: Verdict
}

/** A global set has exclusions, and no attachments. */
function refusalOf({ attributes }: v2.PolicySet, kind: MemberKind, refusals: Refusals): Verdict {
  if (kind === 'policies')
    return (
      refusals.manage ??
      (attributes.versioned ? 'The policies of this set come with an upload.' : undefined)
    )
  return kind.endsWith('exclusions') ? refusals.manage : refusals.attach
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

interface Search {
  readonly api: Api
  readonly organization: string
  readonly text: string
  readonly signal: AbortSignal
}

function findOf(group: Group, search: Search, kind: v2.PolicyKind): Promise<readonly Choice[]> {
  switch (group) {
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
