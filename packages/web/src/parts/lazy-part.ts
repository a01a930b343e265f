import { ConnectionError } from '@reeve/sdk'
import { lazy, type ComponentType, type LazyExoticComponent } from 'react'

/** A part whose code is loaded when it is first drawn. See `FailureBoundary` for when it is not. */
export function lazyPart<Props>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => {
    try {
      return { default: await load() }
    } catch (cause) {
      throw new ConnectionError({
        reason: 'unreachable',
        address: window.location.origin,
        message: 'The code of this page could not be loaded.',
        cause,
      })
    }
  })
}
