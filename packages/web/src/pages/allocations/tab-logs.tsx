import { LOG_TYPES, type Allocation, type LogType } from '@reeve/contract'
import type { Client } from '@reeve/sdk'
import { allocationCan } from '../../actions/allocation-can.ts'
import { useTextStream } from '../../data/use-text-stream.ts'
import { describeFailure } from '../../parts/describe-failure.ts'
import { LogView } from '../../parts/log-view.tsx'
import { Panel } from '../../parts/panel.tsx'
import { saveBytes } from '../../parts/save-bytes.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { chosenTask, type AllocationView } from './allocation-view.ts'
import { TaskSelect } from './task-select.tsx'

/** How much of what was written before is shown. */
const TAIL_BYTES = 65_536

/** What a task writes, as it writes it. */
export function LogsTab({ allocation, search }: AllocationView) {
  const { rights } = useSession()
  const refusal = allocationCan.readLogs(allocation, rights)
  if (refusal !== undefined) return <p className="note tone-warn">{refusal}</p>
  const task = chosenTask(allocation, search)
  const type = LOG_TYPES.find((one) => one === search.get('type')) ?? 'stdout'
  const isFollowed = search.get('follow') !== 'no'
  const state = allocation.TaskStates?.[task]
  if (state === undefined || state.StartedAt.startsWith('0001-'))
    return (
      <>
        <TaskSelect allocation={allocation} current={task} />
        <p className="note tone-busy">
          The task {task} has not started: it has written nothing yet.
        </p>
      </>
    )
  return <Logs output={{ allocation, task, type, isFollowed }} wanted={search.get('q') ?? ''} />
}

interface Output {
  readonly allocation: Allocation
  readonly task: string
  readonly type: LogType
  readonly isFollowed: boolean
}

interface LogsProps {
  readonly output: Output
  /** The text that is looked for. */
  readonly wanted: string
}

function Logs({ output, wanted }: LogsProps) {
  const { allocation, task, type, isFollowed } = output
  // A task that starts again writes on: the stream that ended with it is opened anew.
  const started = allocation.TaskStates?.[task]?.StartedAt ?? ''
  const key = [allocation.ID, task, type, isFollowed, started].join('\n')
  const stream = useTextStream(key, (api, signal) => tailOf(api, output, signal))
  return (
    <>
      <search className="filters">
        <SearchField label="Search in the lines" value={wanted} />
        <TaskSelect allocation={allocation} current={task} />
        <select
          aria-label="Stream"
          value={type}
          onChange={(event) => navigate(hrefWith({ type: event.target.value }), { replace: true })}
        >
          {LOG_TYPES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <label className="check">
          <input
            type="checkbox"
            checked={isFollowed}
            onChange={({ target }) =>
              navigate(hrefWith({ follow: target.checked ? undefined : 'no' }), { replace: true })
            }
          />
          Follow
        </label>
        <Download output={output} />
      </search>
      <Panel title={isFollowed && stream.isOpen ? `${type}, followed` : type} isFlush>
        <LogView label={`${type} of ${task}`} stream={stream} search={wanted} />
      </Panel>
    </>
  )
}

async function tailOf(api: Client, output: Output, signal: AbortSignal) {
  const { allocation, task, type, isFollowed } = output
  const query = {
    namespace: allocation.Namespace,
    task,
    type,
    follow: isFollowed,
    plain: true,
    origin: 'end',
    offset: TAIL_BYTES,
  }
  const params = { alloc_id: allocation.ID }
  return (await api.open('streamLogs', { params, query, signal, timeoutMs: 0 })).data
}

/** Everything that is kept, not only what is shown. */
function Download({ output }: { readonly output: Output }) {
  const { api } = useSession()
  const toast = useToast()
  const { allocation, task, type } = output
  const save = async () => {
    const query = { namespace: allocation.Namespace, task, type, plain: true, origin: 'start' }
    try {
      const params = { alloc_id: allocation.ID }
      const { data } = await api.open('streamLogs', { params, query, timeoutMs: 0 })
      await saveBytes(`${task}-${allocation.ID.slice(0, 8)}.${type}.log`, data)
    } catch (error) {
      const { title, text } = describeFailure(error)
      toast({ kind: 'bad', text: `${title} ${text}` })
    }
  }
  return (
    <button type="button" className="button" onClick={() => void save()}>
      Download
    </button>
  )
}
