import { LOG_TYPES } from '@reeve/contract'
import { jobCan } from '../../actions/job-can.ts'
import { useTextStream } from '../../data/use-text-stream.ts'
import { LogView } from '../../parts/log-view.tsx'
import { Panel } from '../../parts/panel.tsx'
import { saveText } from '../../parts/save-text.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import type { JobView } from './job-view.ts'

/** How much of what was written before is shown. */
const TAIL_BYTES = 65_536

/** The output of all allocations of the job, line by line, as they come and go. */
export function LogsTab({ job, name, search }: JobView) {
  const { rights } = useSession()
  const refusal = jobCan.readLogs(job, rights)
  if (refusal !== undefined) return <p className="note tone-warn">{refusal}</p>
  const tasks = [...new Set(job.TaskGroups.flatMap(({ Tasks }) => Tasks.map(({ Name }) => Name)))]
  return <Logs name={name} tasks={tasks} search={search} />
}

type LogsProps = Pick<JobView, 'name' | 'search'> & { readonly tasks: readonly string[] }

function Logs({ name, tasks, search }: LogsProps) {
  const task = search.get('task') ?? ''
  const type = search.get('type') ?? ''
  const wanted = search.get('q') ?? ''
  const stream = useTextStream(
    [name.namespace, name.id, task, type].join('\n'),
    async (api, signal) => {
      const query = {
        namespace: name.namespace,
        task,
        type,
        follow: true,
        prefix: true,
        origin: 'end',
        offset: TAIL_BYTES,
      }
      const params = { job_id: name.id }
      return (await api.open('streamJobLogs', { params, query, signal, timeoutMs: 0 })).data
    },
  )
  const save = () => saveText(`${name.id.replaceAll('/', '-')}.log`, stream.log.lines.join('\n'))
  return (
    <>
      <search className="filters">
        <SearchField label="Search in the lines" value={wanted} />
        <Choice name="task" none="All tasks" value={task} options={tasks} />
        <Choice name="type" none="stdout and stderr" value={type} options={LOG_TYPES} />
        <button type="button" className="button" onClick={save}>
          Download
        </button>
      </search>
      <Panel title={stream.isOpen ? 'Output, followed' : 'Output'} isFlush>
        <LogView label={`Output of ${name.id}`} stream={stream} search={wanted} />
      </Panel>
    </>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly none: string
  readonly value: string
  readonly options: readonly string[]
}

function Choice({ name, none, value, options }: ChoiceProps) {
  return (
    <select
      aria-label={name === 'task' ? 'Task' : 'Stream'}
      value={value}
      onChange={(event) => navigate(hrefWith({ [name]: event.target.value }), { replace: true })}
    >
      <option value="">{none}</option>
      {options.map((option) => (
        <option key={option}>{option}</option>
      ))}
    </select>
  )
}
