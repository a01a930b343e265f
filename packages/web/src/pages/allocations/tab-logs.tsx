import { LOG_TYPES, type Allocation, type LogType } from '@reeve/contract'
import type { Client } from '@reeve/sdk'
import { allocationDisabledReason } from '../../permissions/allocation.ts'
import { useTextStream } from '../../data/text-stream.ts'
import { describeError } from '../../components/errors.ts'
import { LogView } from '../../components/log-view.tsx'
import { Panel } from '../../components/page.tsx'
import { downloadStream } from '../../components/download.ts'
import { SearchField } from '../../components/filters.tsx'
import { useToast } from '../../components/toasts.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { selectedTask, type AllocationView, TaskSelect } from './allocation-view.tsx'

/** Number of earlier bytes that are shown. */
const TAIL_BYTES = 65_536

/** The tab with the live logs of a task. */
export function LogsTab({ allocation, search }: AllocationView) {
  const { permissions } = useSession()
  const disabledReason = allocationDisabledReason.readLogs(allocation, permissions)
  if (disabledReason !== undefined) return <p className="note tone-warn">{disabledReason}</p>
  const task = selectedTask(allocation, search)
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
  return (
    <Logs selection={{ allocation, task, type, isFollowed }} searchText={search.get('q') ?? ''} />
  )
}

interface LogSelection {
  readonly allocation: Allocation
  readonly task: string
  readonly type: LogType
  readonly isFollowed: boolean
}

interface LogsProps {
  readonly selection: LogSelection
  /** The search text. */
  readonly searchText: string
}

function Logs({ selection, searchText }: LogsProps) {
  const { allocation, task, type, isFollowed } = selection
  // A restarted task writes again, so its stream is opened again.
  const started = allocation.TaskStates?.[task]?.StartedAt ?? ''
  const key = [allocation.ID, task, type, isFollowed, started].join('\n')
  const stream = useTextStream(key, (api, signal) => openTail(api, selection, signal))
  return (
    <>
      <search className="filters">
        <SearchField label="Search in the lines" value={searchText} />
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
        <DownloadButton selection={selection} />
      </search>
      <Panel title={isFollowed && stream.isOpen ? `${type}, followed` : type} isFlush>
        <LogView label={`${type} of ${task}`} stream={stream} search={searchText} />
      </Panel>
    </>
  )
}

async function openTail(api: Client, selection: LogSelection, signal: AbortSignal) {
  const { allocation, task, type, isFollowed } = selection
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

/** Downloads the complete log, not only the shown part. */
function DownloadButton({ selection }: { readonly selection: LogSelection }) {
  const { api } = useSession()
  const toast = useToast()
  const { allocation, task, type } = selection
  const save = async () => {
    const query = { namespace: allocation.Namespace, task, type, plain: true, origin: 'start' }
    try {
      const params = { alloc_id: allocation.ID }
      const { data } = await api.open('streamLogs', { params, query, timeoutMs: 0 })
      await downloadStream(`${task}-${allocation.ID.slice(0, 8)}.${type}.log`, data)
    } catch (error) {
      const { title, text } = describeError(error)
      toast({ kind: 'bad', text: `${title} ${text}` })
    }
  }
  return (
    <button type="button" className="button" onClick={() => void save()}>
      Download
    </button>
  )
}
