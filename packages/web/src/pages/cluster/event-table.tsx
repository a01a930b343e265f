import type { Event } from '@reeve/contract'
import { useState, type ReactNode } from 'react'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Editor } from '../../editor/lazy-editor.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { LoggedEvent } from './event-log.ts'

interface EventTableProps {
  readonly events: readonly LoggedEvent[]
  readonly empty: ReactNode
}

/** One row per event; a click shows the payload. */
export function EventTable({ events, empty }: EventTableProps) {
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
