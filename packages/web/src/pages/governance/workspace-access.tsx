import { v2 } from '@reeve/contract'
import { resource, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceDisabledReason } from '../../actions/governance-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { FormDialog } from '../../parts/form.tsx'
import { CustomPermissionFields } from './access-values.tsx'
import { TeamAccessPanel } from './team-access.tsx'
import type { WorkspaceView } from './workspace-runs.tsx'

/** The named access levels; `custom` is set permission by permission. */
const LEVELS = v2.WORKSPACE_ACCESS_LEVELS.filter((level) => level !== 'custom')

/** The tab with the teams that have access beyond that of the project. */
export function WorkspaceAccessTab({ organization, workspace }: WorkspaceView) {
  const accesses = useApiQuery(['team-workspaces', workspace.id], (api, signal) =>
    api.v2.listTeamWorkspaceAccesses({
      query: { 'filter[workspace][id]': workspace.id, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <TeamAccessPanel<v2.WorkspaceAccessLevel, v2.TeamWorkspaceAccess>
      organization={organization}
      accesses={accesses}
      emptyText="Only those with access to its project."
      levels={LEVELS}
      defaultLevel="read"
      disabledReason={workspaceDisabledReason.manageTeams(workspace)}
      calls={{
        grant: (api, team, access) => {
          const to = { team: toOne('teams', team), workspace: toOne('workspaces', workspace.id) }
          const body = resource('team-workspaces', { access }, to)
          return api.v2.createTeamWorkspaceAccess({ body })
        },
        change: (api, { id }, access) =>
          api.v2.updateTeamWorkspaceAccess({
            params: { team_workspace_id: id },
            body: resource('team-workspaces', { access }),
          }),
        revoke: (api, { id }) =>
          api.v2.deleteTeamWorkspaceAccess({ params: { team_workspace_id: id } }),
      }}
      renderCustomForm={(access, onClose) => <CustomAccess access={access} onClose={onClose} />}
    />
  )
}

interface CustomAccessProps {
  readonly access: v2.TeamWorkspaceAccess
  readonly onClose: () => void
}

function CustomAccess({ access, onClose }: CustomAccessProps) {
  const callApi = useApiAction()
  const { access: _level, ...granted } = access.attributes
  const [values, setValues] = useState(granted)
  const save = async () => {
    const result = await callApi({
      call: (api) =>
        api.v2.updateTeamWorkspaceAccess({
          params: { team_workspace_id: access.id },
          body: resource('team-workspaces', { access: 'custom', ...values }),
        }),
      successMessage: 'The rights are saved.',
    })
    return result !== undefined
  }
  return (
    <FormDialog title="Rights of the team" action="Save" onSubmit={save} onClose={onClose}>
      <CustomPermissionFields title="In the workspace" values={values} onChange={setValues} />
    </FormDialog>
  )
}
