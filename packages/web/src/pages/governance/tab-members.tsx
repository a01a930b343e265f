import type { v2 } from '@reeve/contract'
import { findIncluded, resource, toMany } from '@reeve/sdk'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import type { OrganizationView } from './organization-view.ts'

interface Member {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly status: string
  readonly teams: string
}

/** Who is in the organization, and who is invited. */
export function MembersTab({ organization }: OrganizationView) {
  const [isInviting, setInviting] = useState(false)
  const refusal = organizationCan.manageUsers(organization)
  const members = useRead(['members', organization.id], (api, signal) =>
    api.v2.listOrganizationMemberships({
      params: { organization_name: organization.id },
      query: { 'page[size]': 100, include: 'user,teams' },
      signal,
    }),
  )
  return (
    <>
      <div className="filters">
        <ActionButton kind="primary" refusal={refusal} onAct={() => setInviting(true)}>
          Invite…
        </ActionButton>
      </div>
      <QueryView query={members} what="the members">
        {(page) => (
          <DataTable
            label="Members"
            columns={columnsOf(organization)}
            rows={page.data.map((membership) => memberOf(page, membership))}
            keyOf={({ id }) => id}
            empty={
              <EmptyState title="No members yet">
                <p>
                  Site administrators and organization tokens work here without being members.
                  Invite people by their email; they accept with their own token.
                </p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      {isInviting && <Invite organization={organization.id} onClose={() => setInviting(false)} />}
    </>
  )
}

function memberOf(
  page: v2.OrganizationMembershipPage,
  membership: v2.OrganizationMembership,
): Member {
  const { attributes, relationships } = membership
  const user = findIncluded(page, relationships.user.data)
  const teams = relationships.teams.data.map((team) => findIncluded(page, team)?.attributes.name)
  return {
    id: membership.id,
    name: user?.attributes.username ?? relationships.user.data.id,
    email: attributes.email,
    status: attributes.status,
    teams: teams.filter((name) => name !== undefined).join(', '),
  }
}

function columnsOf(organization: v2.Organization): readonly Column<Member>[] {
  return [
    { id: 'name', head: 'User', cell: ({ name }) => name },
    { id: 'email', head: 'Email', cell: ({ email }) => email, isExtra: true },
    { id: 'teams', head: 'Teams', cell: ({ teams }) => teams || '–', isExtra: true },
    {
      id: 'status',
      head: 'Status',
      width: '112px',
      cell: ({ status }) => <StateBadge state={status} />,
    },
    {
      id: 'actions',
      head: 'Actions',
      width: '112px',
      cell: (member) => <Remove organization={organization} member={member} />,
    },
  ]
}

interface RemoveProps {
  readonly organization: v2.Organization
  readonly member: Member
}

function Remove({ organization, member }: RemoveProps) {
  const act = useAct()
  const confirm = useConfirm()
  const remove = async () => {
    const isSure = await confirm({
      title: `Remove ${member.name}?`,
      body: <p>They leave all teams of {organization.id}.</p>,
      action: 'Remove',
      isDangerous: true,
    })
    if (!isSure) return
    await act({
      call: (api) =>
        api.v2.deleteOrganizationMembership({
          params: { organization_membership_id: member.id },
        }),
      done: `${member.name} is no longer a member.`,
    })
  }
  return (
    <ActionButton refusal={organizationCan.manageUsers(organization)} onAct={remove}>
      Remove…
    </ActionButton>
  )
}

interface InviteProps {
  readonly organization: string
  readonly onClose: () => void
}

function Invite({ organization, onClose }: InviteProps) {
  const act = useAct()
  const [email, setEmail] = useState('')
  const invite = async () => {
    const made = await act({
      call: (api) =>
        api.v2.createOrganizationMembership({
          params: { organization_name: organization },
          body: resource('organization-memberships', { email }, { teams: toMany('teams', []) }),
        }),
      done: `${email} is invited.`,
    })
    return made !== undefined
  }
  return (
    <FormDialog
      title="Invite to the organization"
      action="Invite"
      refusal={email === '' ? 'Fill in the email.' : undefined}
      onSubmit={invite}
      onClose={onClose}
    >
      <TextField label="Email" attribute="email" kind="email" value={email} onChange={setEmail} />
    </FormDialog>
  )
}
