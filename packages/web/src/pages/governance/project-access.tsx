import { v2 } from '@reeve/contract'
import { resource, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { projectCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { FormDialog } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Refused } from '../../parts/refused.tsx'
import { AccessValues } from './access-values.tsx'
import { TeamAccessPanel } from './team-access.tsx'

interface ProjectAccessProps {
  readonly organization: string
  readonly project: v2.Project
}

/** The levels that are chosen by name; `custom` is set right by right. */
const LEVELS = v2.PROJECT_ACCESS_LEVELS.filter((level) => level !== 'custom')

/** Which teams may use the project, and how; or why that is not told. */
export function ProjectAccessPanel(props: ProjectAccessProps) {
  const refusal = projectCan.readTeams(props.project)
  if (refusal === undefined) return <ReadableAccess {...props} />
  return (
    <Panel title="Teams with access">
      <Refused reason={refusal} />
    </Panel>
  )
}

function ReadableAccess({ organization, project }: ProjectAccessProps) {
  const accesses = useRead(['team-projects', project.id], (api, signal) =>
    api.v2.listTeamProjectAccesses({
      query: { 'filter[project][id]': project.id, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <TeamAccessPanel<v2.ProjectAccessLevel, v2.TeamProjectAccess>
      organization={organization}
      accesses={accesses}
      none="Only teams with rights in the whole organization."
      levels={LEVELS}
      least="read"
      refusal={projectCan.manageTeams(project)}
      calls={{
        give: (api, team, access) => {
          const to = { team: toOne('teams', team), project: toOne('projects', project.id) }
          const body = resource('team-projects', { access }, to)
          return api.v2.createTeamProjectAccess({ body })
        },
        change: (api, { id }, access) =>
          api.v2.updateTeamProjectAccess({
            params: { team_project_id: id },
            body: resource('team-projects', { access }),
          }),
        take: (api, { id }) => api.v2.deleteTeamProjectAccess({ params: { team_project_id: id } }),
      }}
      custom={(access, onClose) => <CustomAccess access={access} onClose={onClose} />}
    />
  )
}

interface CustomAccessProps {
  readonly access: v2.TeamProjectAccess
  readonly onClose: () => void
}

function CustomAccess({ access, onClose }: CustomAccessProps) {
  const act = useAct()
  const [project, setProject] = useState(access.attributes['project-access'])
  const [workspaces, setWorkspaces] = useState(access.attributes['workspace-access'])
  const save = async () => {
    const attributes = {
      access: 'custom',
      'project-access': project,
      'workspace-access': workspaces,
    } as const
    const done = await act({
      call: (api) =>
        api.v2.updateTeamProjectAccess({
          params: { team_project_id: access.id },
          body: resource('team-projects', attributes),
        }),
      done: 'The rights are saved.',
    })
    return done !== undefined
  }
  return (
    <FormDialog title="Rights of the team" action="Save" onSubmit={save} onClose={onClose}>
      <AccessValues title="In the project" values={project} onChange={setProject} />
      <AccessValues title="In its workspaces" values={workspaces} onChange={setWorkspaces} />
    </FormDialog>
  )
}
