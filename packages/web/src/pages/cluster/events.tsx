import { EVENT_TOPICS, type Event } from '@reeve/contract'
import { useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from '../../data/live.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { quoteShellArg } from '../../parts/curl-line.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHeader } from '../../parts/page-head.tsx'
import { downloadText } from '../../parts/save-text.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { StatusSelect } from '../../parts/status-select.tsx'
import { ALL_NAMESPACES } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import '../../style/cluster.css'
import {
  addEvents,
  EVENTS_MAX,
  matchesEvent,
  type EventFilter,
  type LoggedEvent,
} from './event-log.ts'
import { EventTable } from './event-table.tsx'

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
              {isPaused ? `Go on${pendingCount > 0 ? ` (${pendingCount} wait)` : ''}` : 'Pause'}
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
          : 'Run a job, drain a node, change a policy: events appear here at once.'}
      </p>
    </EmptyState>
  )
}
