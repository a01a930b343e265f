import type { Event } from '@reeve/contract'
import { useState, type ReactNode } from 'react'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Editor } from '../../editor/lazy-editor.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { Heard } from './event-log.ts'

interface EventTableProps {
  readonly events: readonly Heard[]
  readonly empty: ReactNode
}

/** One row for each event; what it carries is shown when asked for. */
export function EventTable({ events, empty }: EventTableProps) {
  const [open, setOpen] = useState<Event>()
  const columns = columnsOf(setOpen)
  return (
    <>
      <DataTable
        label="Events"
        columns={columns}
        rows={events}
        keyOf={({ key }) => String(key)}
        empty={empty}
      />
      {open !== undefined && (
        <Dialog
          title={`${open.Type} ${open.Key.slice(0, 36)}`}
          className="wide"
          onClose={() => setOpen(undefined)}
        >
          <Editor
            label="Payload"
            language="json"
            value={JSON.stringify(open, null, 2)}
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

function columnsOf(open: (event: Event) => void): readonly Column<Heard>[] {
  return [
    {
      id: 'type',
      head: 'Event',
      width: '200px',
      cell: ({ event }) => (
        <button type="button" className="link-button" onClick={() => open(event)}>
          {event.Type}
        </button>
      ),
    },
    { id: 'key', head: 'About', cell: ({ event }) => <About event={event} /> },
    {
      id: 'job',
      head: 'Filter keys',
      width: '22%',
      isExtra: true,
      cell: ({ event }) => alsoAbout(event),
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

function About({ event }: { readonly event: Event }) {
  const href = hrefOf(event)
  const text = shortened(event.Key)
  return href === undefined ? text : <Link href={href}>{text}</Link>
}

/** Nothing stands where there is none, such as the deployment of a batch job. */
function alsoAbout({ FilterKeys }: Event): string {
  const keys = (FilterKeys ?? []).filter((key) => key !== '')
  return keys.map((key) => shortened(key)).join(', ')
}

/** Ids are long; names are not. */
function shortened(key: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(key) ? key.slice(0, 8) : key
}

/** The page of what changed, where it has one. */
function hrefOf({ Topic, Key, Namespace: namespace }: Event): string | undefined {
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
