import type { ReactNode } from 'react'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { Icon } from '../../components/icon.tsx'
import { Panel } from '../../components/page.tsx'
import { Picker, type Choice } from '../../components/picker.tsx'
import { Link } from '../../routing/link.tsx'
import type { Api } from '../../session/api.ts'

export interface Member extends Choice {
  readonly href?: string | undefined
}

interface MemberPanelProps {
  readonly title: string
  /** Label of the picker, such as `Project`. */
  readonly label: string
  readonly members: readonly Member[]
  /** Shown without members. */
  readonly emptyText: ReactNode
  readonly disabledReason: DisabledReason
  /** For lists where adding requires more permissions than removing. */
  readonly addDisabledReason?: DisabledReason
  readonly queryKey: readonly unknown[]
  readonly find: (api: Api, text: string, signal: AbortSignal) => Promise<readonly Choice[]>
  readonly onAdd: (choice: Choice) => Promise<void>
  readonly onRemove: (member: Member) => Promise<void>
}

/** A list of members, with controls to add and remove them. */
export function MemberPanel(props: MemberPanelProps) {
  const {
    title,
    label,
    members,
    emptyText,
    disabledReason,
    addDisabledReason,
    queryKey,
    find,
    onAdd,
    onRemove,
  } = props
  return (
    <Panel title={title}>
      <div className="stack">
        {members.length === 0 ? (
          <p className="quiet">{emptyText}</p>
        ) : (
          <ul className="members">
            {members.map((member) => (
              <li key={member.id}>
                <MemberName member={member} />
                <button
                  type="button"
                  className="icon-button"
                  aria-disabled={disabledReason !== undefined}
                  title={disabledReason}
                  onClick={() => (disabledReason === undefined ? void onRemove(member) : undefined)}
                >
                  <Icon name="close" label={`Remove ${member.text} from ${title.toLowerCase()}`} />
                </button>
              </li>
            ))}
          </ul>
        )}
        <Picker
          label={label}
          queryKey={queryKey}
          find={find}
          action="Add"
          disabledReason={disabledReason ?? addDisabledReason}
          onPick={onAdd}
        />
      </div>
    </Panel>
  )
}

function MemberName({ member: { text, href } }: { readonly member: Member }) {
  return href === undefined ? <span>{text}</span> : <Link href={href}>{text}</Link>
}

/** Maximum number of search results. */
const RESULTS_MAX = 20

interface ResourceSearch {
  readonly api: Api
  readonly organization: string
  readonly text: string
  readonly signal: AbortSignal
}

function searchQuery({ organization, text, signal }: ResourceSearch) {
  return {
    params: { organization_name: organization },
    signal,
    page: { 'page[size]': RESULTS_MAX },
    wanted: text === '' ? undefined : text,
  }
}

function choicesOf(
  items: readonly { readonly id: string; readonly attributes: { readonly name: string } }[],
): readonly Choice[] {
  return items.map(({ id, attributes }) => ({ id, text: attributes.name }))
}

export async function findWorkspaces(search: ResourceSearch): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, 'search[name]': searchText }
  return choicesOf((await search.api.v2.listWorkspaces({ params, query, signal })).data.data)
}

export async function findProjects(search: ResourceSearch): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, q: searchText }
  return choicesOf((await search.api.v2.listProjects({ params, query, signal })).data.data)
}

export async function findTeams(search: ResourceSearch): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, q: searchText }
  return choicesOf((await search.api.v2.listTeams({ params, query, signal })).data.data)
}

/** Searches policies of one kind, because a policy set holds one kind only. */
export async function findPolicies(
  search: ResourceSearch & { readonly kind: 'native' | 'opa' },
): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, 'search[name]': searchText, 'filter[kind]': search.kind }
  return choicesOf(
    (await search.api.v2.listOrganizationPolicies({ params, query, signal })).data.data,
  )
}

export async function findMembers(search: ResourceSearch): Promise<readonly Choice[]> {
  const { params, signal, page, wanted: searchText } = searchQuery(search)
  const query = { ...page, q: searchText, include: 'user' }
  const { data } = await search.api.v2.listOrganizationMemberships({ params, query, signal })
  return data.data.map(({ id, attributes }) => ({ id, text: attributes.email }))
}

/** Lists the namespaces of the workload API, whose ID is their name. */
export async function findNamespaces(api: Api, signal: AbortSignal): Promise<readonly Choice[]> {
  const { data } = await api.v1.listNamespaces({ signal })
  return data.map(({ Name }) => ({ id: Name, text: Name }))
}
