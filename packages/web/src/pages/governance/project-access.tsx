import { v2 } from '@reeve/contract'
import { resource, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { projectCan } from '../../actions/governance-can.ts'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { Panel } from '../../parts/panel.tsx'
import { Picker } from '../../parts/picker.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { AccessRow } from './access-row.tsx'
import { findTeams } from './find.ts'

/** The levels that a list offers; the finer ones of `custom` are set by the API. */
const LEVELS = v2.PROJECT_ACCESS_LEVELS.filter((level) => level !== 'custom')
type Level = (typeof LEVELS)[number]

interface ProjectAccessProps {
  readonly organization: string
  readonly project: v2.Project
}

/** Which teams may use the project, and how. Reference §4.4. */
export function ProjectAccessPanel({ organization, project }: ProjectAccessProps) {
  const refusal = projectCan.manageTeams(project)
  const accesses = useRead(['team-projects', project.id], (api, signal) =>
    api.v2.listTeamProjectAccesses({
      query: { 'filter[project][id]': project.id, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <Panel title="Teams with access">
      <div className="stack">
        <QueryView query={accesses} what="the teams">
          {({ data }) =>
            data.length === 0 ? (
              <p className="quiet">Only teams with rights in the whole organization.</p>
            ) : (
              <ul className="members">
                {data.map((access) => (
                  <AccessRow
                    key={access.id}
                    organization={organization}
                    team={access.relationships.team.data.id}
                    level={access.attributes.access}
                    levels={LEVELS}
                    refusal={refusal}
                    change={(api, next) =>
                      api.v2.updateTeamProjectAccess({
                        params: { team_project_id: access.id },
                        body: resource('team-projects', { access: next }),
                      })
                    }
                    remove={(api) =>
                      api.v2.deleteTeamProjectAccess({ params: { team_project_id: access.id } })
                    }
                  />
                ))}
              </ul>
            )
          }
        </QueryView>
        <Grant organization={organization} project={project} refusal={refusal} />
      </div>
    </Panel>
  )
}

interface GrantProps extends ProjectAccessProps {
  readonly refusal: Verdict
}

function Grant({ organization, project, refusal }: GrantProps) {
  const act = useAct()
  const [level, setLevel] = useState<Level>('read')
  const grant = async (team: string, name: string) => {
    const relationships = { team: toOne('teams', team), project: toOne('projects', project.id) }
    await act({
      call: (api) =>
        api.v2.createTeamProjectAccess({
          body: resource('team-projects', { access: level }, relationships),
        }),
      done: `${name} has ${level} access.`,
    })
  }
  return (
    <div className="row">
      <select
        aria-label="Level of access"
        value={level}
        disabled={refusal !== undefined}
        onChange={({ target }) => setLevel(LEVELS.find((one) => one === target.value) ?? 'read')}
      >
        {LEVELS.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <Picker
        label="Team"
        queryKey={['teams', organization]}
        find={(api, text, signal) => findTeams({ api, organization, text, signal })}
        action="Give access"
        refusal={refusal}
        onPick={({ id, text }) => grant(id, text)}
      />
    </div>
  )
}
