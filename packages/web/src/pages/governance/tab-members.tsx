import type { v2 } from '@reeve/contract'
import { findIncluded, resource, toMany } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FormDialog, TextField } from '../../components/form.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import type { OrganizationView } from './in-organization.tsx'

interface Member {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly status: string
  readonly teams: string
}

/** The tab with members and invitations. */
export function MembersTab({ organization }: OrganizationView) {
  const [isInviting, setInviting] = useState(false)
  const disabledReason = organizationDisabledReason.manageUsers(organization)
  const members = useApiQuery(['members', organization.id], (api, signal) =>
    api.v2.listOrganizationMemberships({
      params: { organization_name: organization.id },
      query: { 'page[size]': 100, include: 'user,teams' },
      signal,
    }),
  )
  return (
    <>
      <div className="filters">
        <ActionButton
          kind="primary"
          disabledReason={disabledReason}
          onAction={() => setInviting(true)}
        >
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
      {isInviting && (
        <InviteForm organization={organization.id} onClose={() => setInviting(false)} />
      )}
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
      cell: ({ status }) => <StatusBadge state={status} />,
    },
    {
      id: 'actions',
      head: 'Actions',
      width: '112px',
      cell: (member) => <RemoveButton organization={organization} member={member} />,
    },
  ]
}

interface RemoveButtonProps {
  readonly organization: v2.Organization
  readonly member: Member
}

function RemoveButton({ organization, member }: RemoveButtonProps) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const remove = async () => {
    const isConfirmed = await confirm({
      title: `Remove ${member.name}?`,
      body: <p>They leave all teams of {organization.id}.</p>,
      action: 'Remove',
      isDangerous: true,
    })
    if (!isConfirmed) return
    await callApi({
      call: (api) =>
        api.v2.deleteOrganizationMembership({
          params: { organization_membership_id: member.id },
        }),
      successMessage: `${member.name} is no longer a member.`,
    })
  }
  return (
    <ActionButton
      disabledReason={organizationDisabledReason.manageUsers(organization)}
      onAction={remove}
    >
      Remove…
    </ActionButton>
  )
}

interface InviteFormProps {
  readonly organization: string
  readonly onClose: () => void
}

function InviteForm({ organization, onClose }: InviteFormProps) {
  const callApi = useApiAction()
  const [email, setEmail] = useState('')
  const invite = async () => {
    const created = await callApi({
      call: (api) =>
        api.v2.createOrganizationMembership({
          params: { organization_name: organization },
          body: resource('organization-memberships', { email }, { teams: toMany('teams', []) }),
        }),
      successMessage: `${email} is invited.`,
    })
    return created !== undefined
  }
  return (
    <FormDialog
      title="Invite to the organization"
      action="Invite"
      disabledReason={email === '' ? 'Fill in the email.' : undefined}
      onSubmit={invite}
      onClose={onClose}
    >
      <TextField label="Email" attribute="email" kind="email" value={email} onChange={setEmail} />
    </FormDialog>
  )
}
