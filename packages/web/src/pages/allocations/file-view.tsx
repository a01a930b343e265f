import type { Allocation, FileInfo } from '@reeve/contract'
import { useRead } from '../../data/use-read.ts'
import { bytesText } from '../../parts/bytes.ts'
import { describeFailure } from '../../parts/describe-failure.ts'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { saveBytes } from '../../parts/save-bytes.ts'
import { useToast } from '../../parts/toasts.tsx'
import { visibleName, visibleText } from '../../parts/visible-text.ts'
import { useSession } from '../../session/session.tsx'
import { isText } from './file-path.ts'

interface FileViewProps {
  readonly allocation: Allocation
  readonly path: string
  readonly file: FileInfo
}

/** More than anybody reads in a page; the rest is downloaded. */
const SHOWN_BYTES_MAX = 262_144

/** The beginning of a file as text, and the whole of it to keep. */
export function FileView({ allocation, path, file }: FileViewProps) {
  const { ID, Namespace: namespace } = allocation
  const bytes = useRead(['file', ID, path], (api, signal) =>
    api.v1.readFileAt({
      params: { alloc_id: ID },
      query: { namespace, path, offset: 0, limit: SHOWN_BYTES_MAX },
      signal,
    }),
  )
  const isCut = file.Size > SHOWN_BYTES_MAX
  return (
    <Panel
      title={visibleName(file.Name)}
      isFlush
      actions={
        <>
          <span className="quiet">
            {bytesText(file.Size)}
            {isCut ? `, the first ${bytesText(SHOWN_BYTES_MAX)} are shown` : ''}
          </span>
          <button type="button" className="button" onClick={() => void bytes.refetch()}>
            Read again
          </button>
          <Save allocation={allocation} path={path} name={file.Name} />
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

interface SaveProps {
  readonly allocation: Allocation
  readonly path: string
  readonly name: string
}

function Save({ allocation, path, name }: SaveProps) {
  const { api } = useSession()
  const toast = useToast()
  const save = async () => {
    const query = { namespace: allocation.Namespace, path }
    try {
      const params = { alloc_id: allocation.ID }
      const { data } = await api.open('readFile', { params, query, timeoutMs: 0 })
      await saveBytes(name, data)
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
