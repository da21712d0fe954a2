// Light or dark is one choice for pages and admin: the pages' cookie is what the admin's own script finds and changes.
{
  const kept = document.cookie.match(/(?:^|; )theme=(light|dark)(?:;|$)/);
  localStorage.setItem("theme", kept ? kept[1] : "auto");
  new MutationObserver(() => {
    const theme = document.documentElement.dataset.theme;
    const chosen = theme === "light" || theme === "dark";
    document.cookie = `theme=${chosen ? theme : ""}; path=/; max-age=${chosen ? 31536000 : 0}; samesite=lax`;
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}
