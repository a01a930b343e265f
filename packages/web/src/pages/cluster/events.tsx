import { EVENT_TOPICS, type Event } from '@reeve/contract'
import { useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from '../../data/live.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { saveText } from '../../parts/save-text.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { StatusSelect } from '../../parts/status-select.tsx'
import { ALL_NAMESPACES } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import '../../style/cluster.css'
import { addEvents, EVENTS_MAX, matchesEvent, type EventFilter, type Heard } from './event-log.ts'
import { EventTable } from './event-table.tsx'

/** What changes in the system, as it changes. */
export function EventsPage({ search }: PageProps<'/events'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const topic = EVENT_TOPICS.find((one) => one === search.get('topic'))
  const filter: EventFilter = { namespace, topic, text: search.get('q') ?? '' }
  const { events, isPaused, setPaused, waiting, clear } = useHeardEvents()
  const shown = events.filter(({ event }) => matchesEvent(event, filter))
  return (
    <>
      <PageHead
        title="Events"
        lead="All changes as the server commits them, newest first."
        actions={
          <>
            <ActionButton onAct={() => setPaused(!isPaused)}>
              {isPaused ? `Go on${waiting > 0 ? ` (${waiting} wait)` : ''}` : 'Pause'}
            </ActionButton>
            <ActionButton onAct={clear}>Clear</ActionButton>
            <ActionButton onAct={() => save(shown.map(({ event }) => event))}>
              Download
            </ActionButton>
          </>
        }
      />
      <search className="filters">
        <SearchField label="Key, type or job" value={filter.text} />
        <StatusSelect name="topic" label="Topic" statuses={EVENT_TOPICS} current={topic} />
      </search>
      <StreamNote />
      <EventTable events={shown} empty={<NoEvents hasAny={events.length > 0} />} />
      {events.length >= EVENTS_MAX && (
        <p className="quiet">Only the latest {EVENTS_MAX} are kept here.</p>
      )}
      <CommandLine
        cli={`reeve event stream --namespace ${quoted(namespace)}${topic === undefined ? '' : ` --topic ${topic}`}`}
        call={{ path: '/v1/event/stream', query: { namespace, topic } }}
      />
    </>
  )
}

function useHeardEvents() {
  const [events, setEvents] = useState<readonly Heard[]>([])
  const [isPaused, setPaused] = useState(false)
  const held = useRef<Event[]>([])
  const [waiting, setWaiting] = useState(0)
  useEventBatch((batch) => {
    if (!isPaused) return setEvents((all) => addEvents(all, batch))
    held.current = [...held.current, ...batch].slice(-EVENTS_MAX)
    setWaiting(held.current.length)
  })
  const change = (paused: boolean) => {
    setPaused(paused)
    const batch = held.current
    held.current = []
    setWaiting(0)
    setEvents((all) => addEvents(all, batch))
  }
  return { events, isPaused, setPaused: change, waiting, clear: () => setEvents([]) }
}

function save(events: readonly Event[]): void {
  saveText('events.ndjson', events.map((event) => `${JSON.stringify(event)}\n`).join(''))
}

function StreamNote() {
  const status = useLiveStatus()
  if (status === 'live') return null
  const words = {
    connecting: 'Connecting to the event stream…',
    polling: 'Your token may not read the event stream.',
    lost: 'The connection to the server is lost. Reconnecting…',
  }
  return <p className="note tone-warn node-note">{words[status]}</p>
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
