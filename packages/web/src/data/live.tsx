import { useQueryClient } from '@tanstack/react-query'
import type { Event } from '@reeve/contract'
import {
  createContext,
  use,
  useEffect,
  useEffectEvent,
  useMemo,
  useSyncExternalStore,
  type ReactNode,
} from 'react'
import { useSession } from '../session/session.tsx'
import { LiveFeed, type LiveStatus } from './live-feed.ts'

/** After a longer time in the background, refetching is cheaper than reading all events. */
const RESUME_WITHIN_MS = 60_000

const LiveContext = createContext<LiveFeed | undefined>(undefined)

/** Runs one event stream for all pages of the tab; a new token starts a new one. */
export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const { api } = useSession()
  const queries = useQueryClient()
  const feed = useMemo(() => new LiveFeed(api, queries), [api, queries])
  useEffect(() => {
    feed.start()
    // A browser opens six connections to a server for all tabs, so hidden tabs close the
    // stream.
    let hiddenAtMs = 0
    const onVisibilityChange = () => {
      feed.stop()
      const nowMs = performance.now()
      if (document.visibilityState === 'hidden') hiddenAtMs = nowMs
      else if (nowMs - hiddenAtMs < RESUME_WITHIN_MS) feed.start()
      else feed.restart()
    }
    document.addEventListener('visibilitychange', onVisibilityChange)
    return () => {
      document.removeEventListener('visibilitychange', onVisibilityChange)
      feed.stop()
    }
  }, [feed])
  return <LiveContext value={feed}>{children}</LiveContext>
}

function useLiveFeed(): LiveFeed {
  const feed = use(LiveContext)
  if (feed === undefined) throw new Error('a page is drawn outside of the live feed')
  return feed
}

export function useLiveStatus(): LiveStatus {
  const feed = useLiveFeed()
  return useSyncExternalStore(
    (listener) => feed.onStatus(listener),
    () => feed.status,
  )
}

/** Calls back with the received events, at most four times a second. */
export function useEventBatch(onBatch: (events: readonly Event[]) => void): void {
  const feed = useLiveFeed()
  const notify = useEffectEvent(onBatch)
  useEffect(() => feed.onBatch((events) => notify(events)), [feed])
}
