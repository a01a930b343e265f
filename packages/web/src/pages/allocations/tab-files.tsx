import { HEADERS, type Allocation, type FileInfo } from '@reeve/contract'
import { allocationCan } from '../../actions/allocation-can.ts'
import { useRead } from '../../data/use-read.ts'
import { Ago } from '../../parts/ago.tsx'
import { bytesText } from '../../parts/bytes.ts'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateOfText } from '../../parts/time.ts'
import { visibleName } from '../../parts/visible-text.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import type { AllocationView } from './allocation-view.ts'
import { childOf, stepsTo } from './file-path.ts'
import { FileView } from './file-view.tsx'

/** The files of the allocation on its node. */
export function FilesTab({ allocation, search }: AllocationView) {
  const { rights } = useSession()
  const refusal = allocationCan.readFiles(allocation, rights)
  if (refusal !== undefined) return <p className="note tone-warn">{refusal}</p>
  const path = search.get('path') ?? '/'
  return (
    <>
      <Way allocation={allocation} path={path} />
      <Place key={path} allocation={allocation} path={path} />
    </>
  )
}

interface PlaceProps {
  readonly allocation: Allocation
  readonly path: string
}

function Way({ allocation, path }: PlaceProps) {
  const steps = [{ name: 'Allocation', path: '/' }, ...stepsTo(path)]
  return (
    <nav aria-label="Folders" className="crumbs file-way">
      <ol>
        {steps.map((step) => (
          <li key={step.path}>
            <Link
              href={paths.allocationFiles(allocation.ID, step.path)}
              aria-current={step.path === path ? 'page' : undefined}
            >
              {visibleName(step.name)}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** A folder or a file: only the server knows which. */
function Place({ allocation, path }: PlaceProps) {
  const { ID, Namespace: namespace } = allocation
  const stat = useRead(['file-stat', ID, path], (api, signal) =>
    api.v1.statFile({ params: { alloc_id: ID }, query: { namespace, path }, signal }),
  )
  return (
    <QueryView query={stat} what="the file">
      {(file) =>
        file.IsDir ? (
          <Folder allocation={allocation} path={path} />
        ) : (
          <FileView allocation={allocation} path={path} file={file} />
        )
      }
    </QueryView>
  )
}

const COLUMNS: readonly Column<FileInfo>[] = [
  {
    id: 'name',
    head: 'Name',
    cell: ({ Name, IsDir }) => (
      <>
        <Icon name={IsDir ? 'folder' : 'file'} label={IsDir ? 'Folder' : 'File'} />{' '}
        {visibleName(Name)}
      </>
    ),
  },
  {
    id: 'size',
    head: 'Size',
    width: '104px',
    align: 'end',
    cell: ({ Size, IsDir }) => (IsDir ? '' : bytesText(Size)),
  },
  {
    id: 'mode',
    head: 'Mode',
    width: '128px',
    isExtra: true,
    cell: ({ FileMode }) => <code>{FileMode}</code>,
  },
  {
    id: 'changed',
    head: 'Changed',
    width: '112px',
    isExtra: true,
    cell: ({ ModTime }) => <Ago date={dateOfText(ModTime)} />,
  },
]

/** No event tells of a file that is written. */
const EVERY_MS = 10_000

function Folder({ allocation, path }: PlaceProps) {
  const { ID, Namespace: namespace } = allocation
  const files = useRead(
    ['files', ID, path],
    async (api, signal) => {
      const call = { params: { alloc_id: ID }, query: { namespace, path }, signal }
      const { data: list, headers } = await api.v1.listFiles(call)
      return { data: { list, isCut: headers.get(HEADERS.truncated) === 'true' } }
    },
    { everyMs: EVERY_MS },
  )
  return (
    <QueryView query={files} what="the folder">
      {({ list, isCut }) => (
        <>
          {isCut && (
            <p className="note tone-warn">
              The folder has more entries: {list.length} of them are listed, in no particular
              choice.
            </p>
          )}
          <DataTable
            label={`Files of ${path}`}
            columns={COLUMNS}
            rows={list.toSorted(foldersFirst)}
            keyOf={({ Name }) => Name}
            hrefOf={({ Name }) => paths.allocationFiles(ID, childOf(path, Name))}
            empty={
              <EmptyState title="The folder is empty" command={`reeve alloc fs ${ID} ${path}`}>
                <p>Tasks write here what they keep; it goes when the allocation goes.</p>
              </EmptyState>
            }
          />
        </>
      )}
    </QueryView>
  )
}

function foldersFirst(a: FileInfo, b: FileInfo): number {
  if (a.IsDir !== b.IsDir) return a.IsDir ? -1 : 1
  return a.Name < b.Name ? -1 : 1
}
