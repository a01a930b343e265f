import { LOG_TYPES } from '@reeve/contract'
import { jobDisabledReason } from '../../permissions/job.ts'
import { useTextStream } from '../../data/text-stream.ts'
import { LogView } from '../../components/log-view.tsx'
import { Panel } from '../../components/page.tsx'
import { downloadText } from '../../components/download.ts'
import { SearchField } from '../../components/filters.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import type { JobView } from './job-data.ts'

/** Number of earlier bytes that are shown. */
const TAIL_BYTES = 65_536

/** The tab with the live logs of all allocations of the job. */
export function LogsTab({ job, name, search }: JobView) {
  const { permissions } = useSession()
  const disabledReason = jobDisabledReason.readLogs(job, permissions)
  if (disabledReason !== undefined) return <p className="note tone-warn">{disabledReason}</p>
  const tasks = [...new Set(job.TaskGroups.flatMap(({ Tasks }) => Tasks.map(({ Name }) => Name)))]
  return <Logs name={name} tasks={tasks} search={search} />
}

type LogsProps = Pick<JobView, 'name' | 'search'> & { readonly tasks: readonly string[] }

function Logs({ name, tasks, search }: LogsProps) {
  const task = search.get('task') ?? ''
  const type = search.get('type') ?? ''
  const searchText = search.get('q') ?? ''
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
  const save = () =>
    downloadText(`${name.id.replaceAll('/', '-')}.log`, stream.log.lines.join('\n'))
  return (
    <>
      <search className="filters">
        <SearchField label="Search in the lines" value={searchText} />
        <LogFilterSelect name="task" anyText="All tasks" value={task} options={tasks} />
        <LogFilterSelect name="type" anyText="stdout and stderr" value={type} options={LOG_TYPES} />
        <button type="button" className="button" onClick={save}>
          Download
        </button>
      </search>
      <Panel title={stream.isOpen ? 'Output, followed' : 'Output'} isFlush>
        <LogView label={`Output of ${name.id}`} stream={stream} search={searchText} />
      </Panel>
    </>
  )
}

interface LogFilterSelectProps {
  readonly name: string
  readonly anyText: string
  readonly value: string
  readonly options: readonly string[]
}

function LogFilterSelect({ name, anyText, value, options }: LogFilterSelectProps) {
  return (
    <select
      aria-label={name === 'task' ? 'Task' : 'Stream'}
      value={value}
      onChange={(event) => navigate(hrefWith({ [name]: event.target.value }), { replace: true })}
    >
      <option value="">{anyText}</option>
      {options.map((option) => (
        <option key={option}>{option}</option>
      ))}
    </select>
  )
}
