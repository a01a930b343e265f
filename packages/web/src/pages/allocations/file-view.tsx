import type { Allocation, FileInfo } from '@reeve/contract'
import { useApiQuery } from '../../data/use-read.ts'
import { formatBytes } from '../../parts/bytes.ts'
import { describeError } from '../../parts/describe-failure.ts'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { downloadStream } from '../../parts/save-bytes.ts'
import { useToast } from '../../parts/toasts.tsx'
import { visibleName, visibleText } from '../../parts/visible-text.ts'
import { useSession } from '../../session/session.tsx'
import { isText } from './file-path.ts'

interface FileViewProps {
  readonly allocation: Allocation
  readonly path: string
  readonly file: FileInfo
}

/** Length of the preview; larger files can be downloaded. */
const PREVIEW_BYTES_MAX = 262_144

/** A preview of a file, with a button to download it. */
export function FileView({ allocation, path, file }: FileViewProps) {
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
            Read again
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
