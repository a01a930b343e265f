import { useEffect, useRef, useState } from 'react'
import type { TextStream } from '../data/use-text-stream.ts'
import { Failure } from './failure.tsx'

interface LogViewProps {
  /** What is shown, for those who hear the page. */
  readonly label: string
  readonly stream: TextStream
  /** Only lines that hold this are shown, with it marked. */
  readonly search: string
}

/** Lines as they come. The view stays at the end unless somebody scrolls up. */
export function LogView({ label, stream, search }: LogViewProps) {
  const box = useRef<HTMLDivElement>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  const { log, isOpen, error, retry } = stream
  const wanted = search.toLowerCase()
  const lines =
    wanted === '' ? log.lines : log.lines.filter((line) => line.toLowerCase().includes(wanted))
  useEffect(() => {
    if (isAtEnd) box.current?.scrollTo(0, box.current.scrollHeight)
  }, [isAtEnd, lines])
  const onScroll = () => {
    const { current } = box
    if (current === null) return
    setAtEnd(current.scrollHeight - current.scrollTop - current.clientHeight < 24)
  }
  return (
    <>
      {error !== undefined && <Failure error={error} retry={retry} />}
      <div ref={box} className="log" role="log" aria-label={label} tabIndex={0} onScroll={onScroll}>
        {log.dropped > 0 && <p className="quiet">{log.dropped} earlier lines are not shown.</p>}
        {lines.map((line, index) => (
          <div key={log.dropped + index}>{mark(line, wanted)}</div>
        ))}
        {lines.length === 0 && (
          <p className="quiet">{isOpen ? 'Waiting for the first line…' : 'There is no output.'}</p>
        )}
      </div>
    </>
  )
}

function mark(line: string, wanted: string) {
  const place = wanted === '' ? -1 : line.toLowerCase().indexOf(wanted)
  if (place === -1) return line === '' ? ' ' : line
  return (
    <>
      {line.slice(0, place)}
      <mark>{line.slice(place, place + wanted.length)}</mark>
      {line.slice(place + wanted.length)}
    </>
  )
}
