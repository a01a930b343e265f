import { v2 } from '@reeve/contract'
import { findIncluded, resource, toMany } from '@reeve/sdk'
import { useState } from 'react'
import { teamDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton, DeleteButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { CheckField, ChoiceField, FormDialog, TextField } from '../../components/form.tsx'
import { PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { findMembers, MemberPanel } from './member-panel.tsx'
import { organizationCrumbs, OrganizationPageFrame, OrganizationGuard } from './in-organization.tsx'
import { TeamTokens } from './auth-tokens.tsx'
import { VISIBILITIES, VISIBILITY_TEXTS, permissionLabel } from './labels.ts'

/** A team with its members, permissions and tokens. */
export function TeamPage({ params }: PageProps<'/organizations/:organization/teams/:teamId'>) {
  return (
    <OrganizationPageFrame name={params.organization}>
      {({ id }) => <LoadedTeam {...params} organization={id} />}
    </OrganizationPageFrame>
  )
}

interface LoadedTeamProps {
  readonly organization: string
  readonly teamId: string
}

function LoadedTeam({ organization, teamId }: LoadedTeamProps) {
  const team = useApiQuery(['team', teamId, 'users'], (api, signal) =>
    api.v2.readTeam({
      params: { team_id: teamId },
      query: { include: 'users,organization_memberships' },
      signal,
    }),
  )
  return (
    <QueryView
      query={team}
      what="the team"
      page={{
        title: 'Team',
        crumbs: [
          ...organizationCrumbs(organization),
          { text: 'Teams', href: paths.organization(organization, 'teams') },
        ],
      }}
    >
      {(document) => (
        <OrganizationGuard
          name={organization}
          owner={document.data.relationships.organization.data.id}
          hrefIn={(name) => paths.team(name, teamId)}
        >
          <PageHeader
            title={document.data.attributes.name}
            crumbs={[
              ...organizationCrumbs(organization),
              { text: 'Teams', href: paths.organization(organization, 'teams') },
            ]}
            aside={
              <span className="tag">
                visible to {VISIBILITY_TEXTS[document.data.attributes.visibility]}
              </span>
            }
            actions={
              <>
                <EditButton team={document.data} />
                <DeleteButton
                  what={`the team ${document.data.attributes.name}`}
                  body={<p>Its members lose the permissions of this team.</p>}
                  disabledReason={teamDisabledReason.destroy(document.data)}
                  call={(api) => api.v2.deleteTeam({ params: { team_id: teamId } })}
                  returnTo={paths.organization(organization, 'teams')}
                />
              </>
            }
          />
          <Members organization={organization} document={document} />
          <OrganizationAccessPanel team={document.data} />
          <TeamTokens organization={organization} team={document.data} />
          <CliAndApiPanel
            cli={`reeve team show --organization ${quoteShellArg(organization)} ${quoteShellArg(document.data.attributes.name)}`}
            call={{ path: `/api/v2/teams/${teamId}`, query: { include: 'users' } }}
          />
        </OrganizationGuard>
      )}
    </QueryView>
  )
}

function EditButton({ team }: { readonly team: v2.Team }) {
  const [isEditing, setEditing] = useState(false)
  return (
    <>
      <ActionButton
        disabledReason={teamDisabledReason.update(team)}
        onAction={() => setEditing(true)}
      >
        Edit…
      </ActionButton>
      {isEditing && <EditTeam team={team} onClose={() => setEditing(false)} />}
    </>
  )
}

interface EditTeamProps {
  readonly team: v2.Team
  readonly onClose: () => void
}

function EditTeam({ team, onClose }: EditTeamProps) {
  const callApi = useApiAction()
  const { attributes } = team
  const [name, setName] = useState(attributes.name)
  const [visibility, setVisibility] = useState(attributes.visibility)
  const [allowTokenManagement, setAllowTokenManagement] = useState(
    attributes['allow-member-token-management'],
  )
  const save = async () => {
    const result = await callApi({
      call: (api) =>
        api.v2.updateTeam({
          params: { team_id: team.id },
          body: resource('teams', {
            name,
            visibility,
            'allow-member-token-management': allowTokenManagement,
          }),
        }),
      successMessage: 'The team is saved.',
    })
    return result !== undefined
  }
  return (
    <FormDialog title="Edit the team" action="Save" onSubmit={save} onClose={onClose}>
      <TextField label="Name" attribute="name" value={name} onChange={setName} />
      <ChoiceField
        label="Visibility"
        attribute="visibility"
        value={visibility}
        onChange={setVisibility}
        choices={VISIBILITIES}
        textOf={(one) => VISIBILITY_TEXTS[one]}
      />
      <CheckField
        label="Members may manage its tokens"
        attribute="allow-member-token-management"
        value={allowTokenManagement}
        onChange={setAllowTokenManagement}
      />
    </FormDialog>
  )
}

interface MembersProps {
  readonly organization: string
  readonly document: v2.TeamDocument
}

function Members({ organization, document }: MembersProps) {
  const callApi = useApiAction()
  const { id, relationships } = document.data
  const members = relationships['organization-memberships'].data.map((membership) => ({
    id: membership.id,
    text: findIncluded(document, membership)?.attributes.email ?? membership.id,
  }))
  const change = async (call: 'addTeamMemberships' | 'removeTeamMemberships', member: string) => {
    const body = toMany('organization-memberships', [member])
    await callApi({
      call: (api) => api.v2[call]({ params: { team_id: id }, body }),
      successMessage: 'The members of the team are saved.',
    })
  }
  return (
    <MemberPanel
      title="Members"
      label="Member"
      members={members}
      emptyText="No members. Users must be members of the organization first."
      disabledReason={teamDisabledReason.updateMembers(document.data)}
      queryKey={['members', organization]}
      find={(api, text, signal) => findMembers({ api, organization, text, signal })}
      onAdd={(choice) => change('addTeamMemberships', choice.id)}
      onRemove={(member) => change('removeTeamMemberships', member.id)}
    />
  )
}

/** The organization-wide permissions of a team. */
function OrganizationAccessPanel({ team }: { readonly team: v2.Team }) {
  const callApi = useApiAction()
  const disabledReason = teamDisabledReason.updateAccess(team)
  const granted = team.attributes['organization-access']
  const change = async (permission: v2.OrganizationAccess, isGranted: boolean) => {
    await callApi({
      call: (api) =>
        api.v2.updateTeam({
          params: { team_id: team.id },
          body: resource('teams', { 'organization-access': { [permission]: isGranted } }),
        }),
      successMessage: `${isGranted ? 'Granted' : 'Revoked'} ${permissionLabel(permission)}.`,
    })
  }
  return (
    <Panel title="Organization access">
      <fieldset className="rights" disabled={disabledReason !== undefined}>
        <legend>{disabledReason ?? 'A change takes effect at once.'}</legend>
        {v2.ORGANIZATION_ACCESS.map((permission) => (
          <CheckField
            key={permission}
            label={permissionLabel(permission)}
            value={granted[permission]}
            onChange={(isGranted) => void change(permission, isGranted)}
          />
        ))}
      </fieldset>
    </Panel>
  )
}
