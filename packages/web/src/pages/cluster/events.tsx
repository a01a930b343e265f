import { EVENT_TOPICS, type Event } from '@reeve/contract'
import { type ReactNode, useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from '../../data/live.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { PageHeader } from '../../components/page.tsx'
import { downloadText } from '../../components/download.ts'
import { SearchField, StatusSelect } from '../../components/filters.tsx'
import { Editor } from '../../components/lazy.tsx'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import '../../style/cluster.css'
import {
  addEvents,
  EVENTS_MAX,
  matchesEvent,
  type EventFilter,
  type LoggedEvent,
} from './event-log.ts'

/** The event stream as a live table. */
export function EventsPage({ search }: PageProps<'/events'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const topic = EVENT_TOPICS.find((one) => one === search.get('topic'))
  const filter: EventFilter = { namespace, topic, text: search.get('q') ?? '' }
  const { events, isPaused, setPaused, waiting: pendingCount, clear } = useEventLog()
  const shown = events.filter(({ event }) => matchesEvent(event, filter))
  return (
    <>
      <PageHeader
        title="Events"
        lead="All changes as the server commits them, newest first."
        actions={
          <>
            <ActionButton onAction={() => setPaused(!isPaused)}>
              {isPaused ? `Resume${pendingCount > 0 ? ` (${pendingCount} pending)` : ''}` : 'Pause'}
            </ActionButton>
            <ActionButton onAction={clear}>Clear</ActionButton>
            <ActionButton onAction={() => save(shown.map(({ event }) => event))}>
              Download
            </ActionButton>
          </>
        }
      />
      <search className="filters">
        <SearchField label="Key, type or job" value={filter.text} />
        <StatusSelect name="topic" label="Topic" statuses={EVENT_TOPICS} current={topic} />
      </search>
      <StreamStatusNote />
      <EventTable events={shown} empty={<NoEvents hasAny={events.length > 0} />} />
      {events.length >= EVENTS_MAX && (
        <p className="quiet">Only the latest {EVENTS_MAX} events are kept.</p>
      )}
      <CliAndApiPanel
        cli={`reeve event stream --namespace ${quoteShellArg(namespace)}${topic === undefined ? '' : ` --topic ${topic}`}`}
        call={{ path: '/v1/event/stream', query: { namespace, topic } }}
      />
    </>
  )
}

function useEventLog() {
  const [events, setEvents] = useState<readonly LoggedEvent[]>([])
  const [isPaused, setPaused] = useState(false)
  const pausedEvents = useRef<Event[]>([])
  const [pendingCount, setPendingCount] = useState(0)
  useEventBatch((batch) => {
    if (!isPaused) return setEvents((all) => addEvents(all, batch))
    pausedEvents.current = [...pausedEvents.current, ...batch].slice(-EVENTS_MAX)
    setPendingCount(pausedEvents.current.length)
  })
  const changePaused = (paused: boolean) => {
    setPaused(paused)
    const batch = pausedEvents.current
    pausedEvents.current = []
    setPendingCount(0)
    setEvents((all) => addEvents(all, batch))
  }
  return {
    events,
    isPaused,
    setPaused: changePaused,
    waiting: pendingCount,
    clear: () => setEvents([]),
  }
}

function save(events: readonly Event[]): void {
  downloadText('events.ndjson', events.map((event) => `${JSON.stringify(event)}\n`).join(''))
}

function StreamStatusNote() {
  const status = useLiveStatus()
  if (status === 'live') return null
  const messages = {
    connecting: 'Connecting to the event stream…',
    polling: 'Your token may not read the event stream.',
    lost: 'The connection to the server is lost. Reconnecting…',
  }
  return <p className="note tone-warn node-note">{messages[status]}</p>
}

function NoEvents({ hasAny }: { readonly hasAny: boolean }) {
  return (
    <EmptyState
      title={hasAny ? 'No matching events' : 'Waiting for the first event'}
      command="reeve event stream"
    >
      <p>
        {hasAny
          ? 'Remove a filter.'
          : 'Submit job, drain a node, change a policy: events appear here at once.'}
      </p>
    </EmptyState>
  )
}

interface EventTableProps {
  readonly events: readonly LoggedEvent[]
  readonly empty: ReactNode
}

/** One row per event; a click shows the payload. */
function EventTable({ events, empty }: EventTableProps) {
  const [openEvent, setOpen] = useState<Event>()
  const columns = eventColumns(setOpen)
  return (
    <>
      <DataTable
        label="Events"
        columns={columns}
        rows={events}
        keyOf={({ key }) => String(key)}
        empty={empty}
      />
      {openEvent !== undefined && (
        <Dialog
          title={`${openEvent.Type} ${openEvent.Key.slice(0, 36)}`}
          className="wide"
          onClose={() => setOpen(undefined)}
        >
          <Editor
            label="Payload"
            language="json"
            value={JSON.stringify(openEvent, null, 2)}
            isReadOnly
          />
          <div className="row dialog-actions">
            <button type="button" className="button" onClick={() => setOpen(undefined)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

function eventColumns(onOpen: (event: Event) => void): readonly Column<LoggedEvent>[] {
  return [
    {
      id: 'type',
      head: 'Event',
      width: '200px',
      cell: ({ event }) => (
        <button type="button" className="link-button" onClick={() => onOpen(event)}>
          {event.Type}
        </button>
      ),
    },
    { id: 'key', head: 'Key', cell: ({ event }) => <EventSubject event={event} /> },
    {
      id: 'job',
      head: 'Filter keys',
      width: '22%',
      isExtra: true,
      cell: ({ event }) => filterKeysText(event),
    },
    {
      id: 'namespace',
      head: 'Namespace',
      width: '112px',
      isExtra: true,
      cell: ({ event }) => event.Namespace || '–',
    },
    {
      id: 'index',
      head: 'Index',
      width: '88px',
      align: 'end',
      isExtra: true,
      cell: ({ event }) => event.Index,
    },
  ]
}

function EventSubject({ event }: { readonly event: Event }) {
  const href = subjectHref(event)
  const text = shortenId(event.Key)
  return href === undefined ? text : <Link href={href}>{text}</Link>
}

/** Joins the filter keys; empty ones, such as the deployment of a batch job, are omitted. */
function filterKeysText({ FilterKeys }: Event): string {
  const keys = (FilterKeys ?? []).filter((key) => key !== '')
  return keys.map((key) => shortenId(key)).join(', ')
}

/** Shortens IDs, but not names. */
function shortenId(key: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(key) ? key.slice(0, 8) : key
}

/** Returns the page of the changed record, if it has one. */
function subjectHref({ Topic, Key, Namespace: namespace }: Event): string | undefined {
  switch (Topic) {
    case 'Job':
      return paths.job({ namespace, id: Key })
    case 'Allocation':
      return paths.allocation(Key)
    case 'Evaluation':
      return paths.evaluation(Key)
    case 'Deployment':
      return paths.deployment(Key)
    case 'Node':
      return paths.node(Key)
    case 'ACLPolicy':
      return paths.accessPolicy(Key)
    case 'ACLToken':
      return paths.token(Key)
    default:
      return undefined
  }
}
