import type { AnchorHTMLAttributes, MouseEvent, ReactNode, Ref } from 'react'
import { navigate } from './location.ts'

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  /** URL from `paths.ts`. */
  readonly href: string
  readonly children: ReactNode
  readonly ref?: Ref<HTMLAnchorElement>
}

/** A link to another page. It is a real anchor, so that it opens in a new tab and copies. */
export function Link({ href, onClick, children, ...rest }: LinkProps) {
  const onLinkClick = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey
    if (event.defaultPrevented || !isPlain || event.altKey) return
    event.preventDefault()
    navigate(href)
  }
  const preloadTarget = () => preload(href)
  return (
    <a
      href={href}
      onClick={onLinkClick}
      onPointerEnter={preloadTarget}
      onFocus={preloadTarget}
      {...rest}
    >
      {children}
    </a>
  )
}

/**
 * Loads the code of a page before its link is followed. The outlet registers its loader here,
 * because an import would be circular: links are used by the pages that the outlet renders.
 */
let load: ((path: string) => void) | undefined

export function onPreload(loader: (path: string) => void): void {
  load = loader
}

function preload(href: string): void {
  load?.(new URL(href, window.location.href).pathname)
}
