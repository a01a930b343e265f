import { HEADERS, type Allocation, type FileInfo } from '@reeve/contract'
import { allocationDisabledReason } from '../../permissions/allocation.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { dateFromText, formatBytes, visibleName, visibleText } from '../../format.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { downloadStream } from '../../components/download.ts'
import { describeError } from '../../components/errors.ts'
import { EmptyState } from '../../components/notices.tsx'
import { Icon } from '../../components/icon.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useToast } from '../../components/toasts.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import type { AllocationView } from './allocation-view.tsx'
import { isText, joinPath, pathSegments } from './file-path.ts'

/** The tab with the files of the allocation. */
export function FilesTab({ allocation, search }: AllocationView) {
  const { permissions } = useSession()
  const disabledReason = allocationDisabledReason.readFiles(allocation, permissions)
  if (disabledReason !== undefined) return <p className="note tone-warn">{disabledReason}</p>
  const path = search.get('path') ?? '/'
  return (
    <>
      <FileBreadcrumbs allocation={allocation} path={path} />
      <FileOrFolder key={path} allocation={allocation} path={path} />
    </>
  )
}

interface FilePathProps {
  readonly allocation: Allocation
  readonly path: string
}

function FileBreadcrumbs({ allocation, path }: FilePathProps) {
  const segments = [{ name: 'Allocation', path: '/' }, ...pathSegments(path)]
  return (
    <nav aria-label="Folders" className="crumbs file-way">
      <ol>
        {segments.map((segment) => (
          <li key={segment.path}>
            <Link
              href={paths.allocationFiles(allocation.ID, segment.path)}
              aria-current={segment.path === path ? 'page' : undefined}
            >
              {visibleName(segment.name)}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** Shows a folder or a file, after the server has reported which it is. */
function FileOrFolder({ allocation, path }: FilePathProps) {
  const { ID, Namespace: namespace } = allocation
  const stat = useApiQuery(['file-stat', ID, path], (api, signal) =>
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
    cell: ({ Size, IsDir }) => (IsDir ? '' : formatBytes(Size)),
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
    head: 'Updated',
    width: '112px',
    isExtra: true,
    cell: ({ ModTime }) => <RelativeTime date={dateFromText(ModTime)} />,
  },
]

/** Folders are polled, because no event reports written files. */
const POLL_INTERVAL_MS = 10_000

function Folder({ allocation, path }: FilePathProps) {
  const { ID, Namespace: namespace } = allocation
  const files = useApiQuery(
    ['files', ID, path],
    async (api, signal) => {
      const call = { params: { alloc_id: ID }, query: { namespace, path }, signal }
      const { data: list, headers } = await api.v1.listFiles(call)
      return { data: { list, isCut: headers.get(HEADERS.truncated) === 'true' } }
    },
    { pollIntervalMs: POLL_INTERVAL_MS },
  )
  return (
    <QueryView query={files} what="the folder">
      {({ list, isCut: isTruncated }) => (
        <>
          {isTruncated && (
            <p className="note tone-warn">
              The folder has more entries. {list.length} of them are listed, in no particular order.
            </p>
          )}
          <DataTable
            label={`Files of ${path}`}
            columns={COLUMNS}
            rows={list.toSorted(foldersFirst)}
            keyOf={({ Name }) => Name}
            hrefOf={({ Name }) => paths.allocationFiles(ID, joinPath(path, Name))}
            empty={
              <EmptyState title="The folder is empty" command={`reeve alloc fs ${ID} ${path}`}>
                <p>Tasks write their files here. They are deleted with the allocation.</p>
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

interface FileViewProps {
  readonly allocation: Allocation
  readonly path: string
  readonly file: FileInfo
}

/** Length of the preview; larger files can be downloaded. */
const PREVIEW_BYTES_MAX = 262_144

/** A preview of a file, with a button to download it. */
function FileView({ allocation, path, file }: FileViewProps) {
  const { ID, Namespace: namespace } = allocation
  const bytes = useApiQuery(['file', ID, path], (api, signal) =>
    api.v1.readFileAt({
      params: { alloc_id: ID },
      query: { namespace, path, offset: 0, limit: PREVIEW_BYTES_MAX },
      signal,
    }),
  )
  const isTruncated = file.Size > PREVIEW_BYTES_MAX
  return (
    <Panel
      title={visibleName(file.Name)}
      isFlush
      actions={
        <>
          <span className="quiet">
            {formatBytes(file.Size)}
            {isTruncated ? `, the first ${formatBytes(PREVIEW_BYTES_MAX)} are shown` : ''}
          </span>
          <button type="button" className="button" onClick={() => void bytes.refetch()}>
            Reload
          </button>
          <DownloadButton allocation={allocation} path={path} name={file.Name} />
        </>
      }
    >
      <QueryView query={bytes} what="the file">
        {(data) => <Content name={file.Name} bytes={data} />}
      </QueryView>
    </Panel>
  )
}

function Content({ name, bytes }: { readonly name: string; readonly bytes: Uint8Array }) {
  if (bytes.length === 0) return <p className="log quiet">The file is empty.</p>
  if (!isText(bytes))
    return <p className="log quiet">This is a binary file. Download it to inspect it.</p>
  return (
    <pre className="log" tabIndex={0} role="region" aria-label={`Text of ${name}`}>
      {visibleText(new TextDecoder().decode(bytes))}
    </pre>
  )
}

interface DownloadButtonProps {
  readonly allocation: Allocation
  readonly path: string
  readonly name: string
}

function DownloadButton({ allocation, path, name }: DownloadButtonProps) {
  const { api } = useSession()
  const toast = useToast()
  const save = async () => {
    const query = { namespace: allocation.Namespace, path }
    try {
      const params = { alloc_id: allocation.ID }
      const { data } = await api.open('readFile', { params, query, timeoutMs: 0 })
      await downloadStream(name, data)
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
